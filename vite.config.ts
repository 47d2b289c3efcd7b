import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { contentPolicy, pageHeaders } from "./scripts/lib/build/content-policy.ts";
import { CORE_ONLY } from "./scripts/lib/build/core-only.ts";
import { NO_PLUGINS } from "./scripts/lib/build/no-plugins.ts";
import { thirdPartyNotices } from "./scripts/lib/build/third-party-notices.ts";

const notices = thirdPartyNotices();

export default defineConfig(({ command, mode }) => ({
  base: "./",
  plugins: [
    mode === "core" && NO_PLUGINS,
    react(),
    notices.page,
    {
      // For hosts that cannot set headers.
      name: "content-policy",
      apply: "build",
      transformIndexHtml: () => [
        {
          tag: "meta",
          attrs: { "http-equiv": "Content-Security-Policy", content: contentPolicy(false, "") },
          injectTo: "head-prepend",
        },
      ],
    },
  ],
  resolve: {
    // Otherwise the development server bundles each entry of a package separately and loads two cores.
    alias: command === "build" ? [CORE_ONLY] : [],
  },
  worker: { format: "es", plugins: () => [mode === "core" && NO_PLUGINS, notices.worker] },
  // Loaded on demand; without this its first use in development reloads the page.
  optimizeDeps: { include: ["recharts"] },
  build: { target: "es2023", chunkSizeWarningLimit: 2500, sourcemap: false },
  server: { headers: pageHeaders(true) },
  preview: { headers: pageHeaders(false) },
}));
