/** The model of the private file system, in which every call of a run fails, leaves what Chromium leaves. */
import { join } from "node:path";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pageHeaders } from "../../scripts/lib/build/content-policy.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { cutLife } from "../support/cut-opfs.ts";
import { type OpenPage, openPage } from "../support/page.ts";
import { fakeOpfs } from "../unit/runs/fake-opfs.ts";

const WORKER = "/opfs-model-worker.js";
let lab: OpenPage;

/** cut-opfs.ts as a worker that answers { n, move } with the state in a folder of its own. */
async function bundledWorker(): Promise<string> {
  const entry = "\0worker";
  const code = `
    import { cutLife } from ${JSON.stringify(join(root, "tests", "support", "cut-opfs.ts"))};
    onmessage = async ({ data: { n, move } }) => {
      const top = await navigator.storage.getDirectory();
      const folder = await top.getDirectoryHandle("model-" + n + move, { create: true });
      try {
        postMessage({ found: await cutLife(folder, n, move) });
      } catch (thrown) {
        postMessage({ error: String(thrown) });
      }
    };`;
  const made = await build({
    configFile: false,
    root,
    logLevel: "error",
    plugins: [
      {
        name: "worker",
        resolveId: (id) => (id === "worker" ? entry : null),
        load: (id) => (id === entry ? code : null),
      },
    ],
    build: { write: false, rolldownOptions: { input: "worker", output: { format: "iife" } } },
  });
  const [output] = [made].flat() as { readonly output: readonly { readonly code?: string }[] }[];
  return output?.output[0]?.code ?? "";
}

beforeAll(async () => {
  const code = await bundledWorker();
  lab = await openPage({}, {}, async (page) => {
    // The page's embedder policy refuses a worker whose script does not have it too.
    const answer = { contentType: "text/javascript", headers: pageHeaders(false), body: code };
    await page.route(`**${WORKER}`, (route) => route.fulfill(answer));
  });
});
afterAll(() => lab.close());

/** What Chromium keeps of the life. */
async function real(n: number, move: boolean): Promise<unknown> {
  const answer = await lab.page.evaluate(
    ([url, asked]) =>
      new Promise<{ readonly found?: unknown; readonly error?: string }>((resolve) => {
        const worker = new Worker(url);
        worker.onmessage = ({ data }) => {
          worker.terminate();
          resolve(data as { readonly found?: unknown });
        };
        // The event of a script that the browser refuses has no message.
        worker.onerror = ({ message }) => resolve({ error: message ?? "the worker could not be loaded" });
        worker.postMessage(asked);
      }),
    [WORKER, { n, move }] as const,
  );
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.found;
}

describe.each([true, false])("a store in the browser's private file system (move: %s)", (move) => {
  it("that ends before any of its changes leaves the state of the model", async () => {
    for (let n = 0; ; n++) {
      const model = await cutLife(fakeOpfs({ move: true, quota: 1e9 }).root, n, move);
      expect(await real(n, move), `change ${n}`).toEqual(model);
      if (model !== null) continue;
      expect(n).toBeGreaterThan(40);
      return;
    }
  });
});
