/**
 * Content security: scripts only from our own origin, and the page connects to nothing else. Judges and hubs are named
 * at run time, which a policy cannot anticipate: the workers, whose policy comes with their own files, connect to
 * origins that the user agreed to (docs/decisions.md#nothing-runs-or-connects-because-a-file-says-so). The development
 * server injects inline modules for hot reload, so it gets a nonce-free relaxation there only.
 */

/** @param connect further places that are connected to, each after a blank */
export function contentPolicy(dev: boolean, connect: string): string {
  return [
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
}

/** Where workers may connect to: any server over TLS, and programs on this machine. */
const WORKER_PLACES = " https: http://localhost:* http://127.0.0.1:*";

/** The headers of every file. `public/_headers` repeats those of the built page for hosts that read such a file. */
export function pageHeaders(dev: boolean): Readonly<Record<string, string>> {
  return {
    // A meta tag cannot restrict who frames the page; src/app/frame/framed.ts does so on hosts without headers.
    "Content-Security-Policy": `${contentPolicy(dev, `${WORKER_PLACES}${dev ? " ws:" : ""}`)}; frame-ancestors 'none'`,
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    // Not "require-corp": it would hide whether a judge's server refuses CORS or does not exist.
    "Cross-Origin-Embedder-Policy": "credentialless",
    "Referrer-Policy": "no-referrer",
  };
}

/** The text of `public/_headers`. */
export function headersFile(): string {
  const lines = Object.entries(pageHeaders(false)).map(([name, value]) => `  ${name}: ${value}\n`);
  return `/*\n${lines.join("")}`;
}
