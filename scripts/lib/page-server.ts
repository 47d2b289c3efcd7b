/** Serves the built page on a free local port; builds it first when a source file is newer than the build. */
import { build, preview } from "vite";
import { buildIsStale, root } from "./ensure.mjs";

export interface PageServer {
  readonly url: string;
  close(): Promise<void>;
}

/** The page as it ships. A test runner sets NODE_ENV, and React would be built for development under it: three times as slow. */
export async function buildPage(): Promise<void> {
  if (!buildIsStale()) return;
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = "production";
  try {
    await build({ root, logLevel: "error" });
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

export async function servePage(): Promise<PageServer> {
  await buildPage();
  const server = await preview({ root, logLevel: "error", preview: { port: 0, strictPort: false, open: false } });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("The page server has no port");
  return { url: `http://localhost:${address.port}/`, close: () => server.close() };
}
