/** Serves the built page on a free local port; builds it first when a source file is newer than the build. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { build, preview } from "vite";
import { root } from "./ensure.mjs";

const SOURCES = ["src", "workers", "public", "index.html", "vite.config.ts", "package-lock.json"];

function newest(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), 0);
}

export function buildIsStale(): boolean {
  const built = join(root, "dist", "index.html");
  return !existsSync(built) || SOURCES.some((path) => newest(join(root, path)) > statSync(built).mtimeMs);
}

export interface PageServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function servePage(): Promise<PageServer> {
  if (buildIsStale()) await build({ root, logLevel: "error" });
  const server = await preview({ root, logLevel: "error", preview: { port: 0, strictPort: false, open: false } });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("The page server has no port");
  return { url: `http://localhost:${address.port}/`, close: () => server.close() };
}
