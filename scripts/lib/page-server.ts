/** Serves the built page on a free local port; builds it first when a source file is newer than the build. */
import { preview } from "vite";
import { buildIsStale, buildPage, root } from "./ensure.mjs";

export interface PageServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function servePage(): Promise<PageServer> {
  if (buildIsStale() && buildPage() !== 0) throw new Error("The page could not be built");
  const server = await preview({ root, logLevel: "error", preview: { port: 0, strictPort: false, open: false } });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("The page server has no port");
  return { url: `http://localhost:${address.port}/`, close: () => server.close() };
}
