import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { CORE_ONLY } from "./scripts/lib/build/core-only.ts";
import { thirdPartyNotices } from "./scripts/lib/build/third-party-notices.ts";

const notices = thirdPartyNotices();

/**
 * Content security: scripts only from our own origin, and the page connects to nothing else. Judges and hubs are named
 * at run time, which a policy cannot anticipate: the workers, whose policy comes with their own files, connect to
 * origins that the user agreed to (docs/decisions/0026-settings-from-outside-need-consent.md). The development
 * server injects inline modules for hot reload, so it gets a nonce-free relaxation there only.
 */
const csp = (dev: boolean, connect: string): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval'${dev ? " 'unsafe-inline'" : ""}`,
    "style-src 'self' 'unsafe-inline'",
    "worker-src 'self' blob:",
    "img-src 'self' blob: data:",
    `connect-src 'self'${connect}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

/** Where workers may connect to: any server over TLS, and programs on this machine. */
const WORKER_PLACES = " https: http://localhost:* http://127.0.0.1:*";

const headers = (dev: boolean) => ({
  // A meta tag cannot restrict who frames the page; src/app/frame/framed.ts does so on hosts without headers.
  "Content-Security-Policy": `${csp(dev, `${WORKER_PLACES}${dev ? " ws:" : ""}`)}; frame-ancestors 'none'`,
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  // Not "require-corp": it would hide whether a judge's server refuses CORS or does not exist.
  "Cross-Origin-Embedder-Policy": "credentialless",
  "Referrer-Policy": "no-referrer",
});

export default defineConfig(({ command }) => ({
  base: "./",
  plugins: [
    react(),
    notices.page,
    {
      // For hosts that cannot set headers.
      name: "content-policy",
      apply: "build",
      transformIndexHtml: () => [
        {
          tag: "meta",
          attrs: { "http-equiv": "Content-Security-Policy", content: csp(false, "") },
          injectTo: "head-prepend",
        },
      ],
    },
  ],
  resolve: {
    // Otherwise the development server bundles each entry of a package separately and loads two cores.
    alias: command === "build" ? [CORE_ONLY] : [],
  },
  worker: { format: "es", plugins: () => [notices.worker] },
  // Loaded on demand; without this its first use in development reloads the page.
  optimizeDeps: { include: ["recharts"] },
  build: { target: "es2023", chunkSizeWarningLimit: 2500, sourcemap: false },
  server: { headers: headers(true) },
  preview: { headers: headers(false) },
}));
