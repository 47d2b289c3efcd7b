import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { thirdPartyNotices } from "./scripts/lib/third-party-notices.ts";

const notices = thirdPartyNotices();

/**
 * Content security: scripts only from our own origin. Judges and hubs are named while the page runs, which no policy can
 * follow: the workers ask only origins that the person agreed to (docs/decisions/README.md).
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
  // A meta tag cannot say who may frame the page; src/app/frame/framed.ts stands in for hosts without headers.
  "Content-Security-Policy": `${csp(dev)}; frame-ancestors 'none'`,
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  // Not "require-corp": under that nobody can tell a judge's server that refuses CORS from one that is not there.
  "Cross-Origin-Embedder-Policy": "credentialless",
  "Referrer-Policy": "no-referrer",
});

export default defineConfig({
  base: "./",
  plugins: [
    react(),
    notices.page,
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
  worker: { format: "es", plugins: () => [notices.worker] },
  // Loaded on demand; without this the first visit to it in development reloads the page.
  optimizeDeps: { include: ["recharts"] },
  build: { target: "es2023", chunkSizeWarningLimit: 2500, sourcemap: false },
  server: { headers: headers(true) },
  preview: { headers: headers(false) },
});
