/** Builds the page once before the browser tests and serves it to all of them: a server takes half a second to start. */
import { servePage } from "../../scripts/lib/page-server.ts";

/** Files find the address in the environment, which their processes inherit. */
export async function setup(): Promise<() => Promise<void>> {
  const server = await servePage();
  process.env.LAB_PAGE = server.url;
  return () => server.close();
}
