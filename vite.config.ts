import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/**
 * Content security: scripts only from our own origin, network only to judges the user names.
 * The development server injects inline modules for hot reload, so it gets a nonce-free relaxation there only.
 */
const csp = (dev: boolean): string =>
  [
    "default-src 'self'",
    `script-src 'self' 'wasm-unsafe-eval'${dev ? " 'unsafe-inline'" : ""}`,
    "style-src 'self' 'unsafe-inline'",
    "worker-src 'self' blob:",
    "img-src 'self' blob: data:",
    `connect-src 'self' https: http://localhost:* http://127.0.0.1:*${dev ? " ws:" : ""}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");

const headers = (dev: boolean) => ({
  "Content-Security-Policy": csp(dev),
  "Cross-Origin-Opener-Policy": "same-origin",
  // Not "require-corp": under that nobody can tell a judge's server that refuses CORS from one that is not there.
  "Cross-Origin-Embedder-Policy": "credentialless",
  "Referrer-Policy": "no-referrer",
});

export default defineConfig({
  base: "./",
  plugins: [
    react(),
    {
      // Hosts that cannot set headers still get the policy.
      name: "content-policy",
      apply: "build",
      transformIndexHtml: () => [
        {
          tag: "meta",
          attrs: { "http-equiv": "Content-Security-Policy", content: csp(false) },
          injectTo: "head-prepend",
        },
      ],
    },
  ],
  worker: { format: "es" },
  // Loaded on demand; without this the first visit to it in development reloads the page.
  optimizeDeps: { include: ["recharts"] },
  build: { target: "es2023", chunkSizeWarningLimit: 2500, sourcemap: false },
  server: { headers: headers(true) },
  preview: { headers: headers(false) },
});
