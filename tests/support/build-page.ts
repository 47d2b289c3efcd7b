/** Builds the page once before the browser tests, so that files that run at once do not build it twice. */
export { buildPage as setup } from "../../scripts/lib/page-server.ts";
