import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { contentPolicy, pageHeaders } from "./scripts/lib/build/content-policy.ts";
import { NO_PLUGINS } from "./scripts/lib/build/no-plugins.ts";
import { thirdPartyNotices } from "./scripts/lib/build/third-party-notices.ts";

const notices = thirdPartyNotices();

export default defineConfig(({ mode }) => ({
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
  worker: { format: "es", plugins: () => [mode === "core" && NO_PLUGINS, notices.worker] },
  // Loaded on demand: without this the first use in development reloads the page, with another core of TensorFlow.js.
  optimizeDeps: { include: ["recharts", "@tensorflow/tfjs-backend-webgpu"] },
  build: { target: "es2023", chunkSizeWarningLimit: 2500, sourcemap: false },
  server: { headers: pageHeaders(true) },
  preview: { headers: pageHeaders(false) },
}));
