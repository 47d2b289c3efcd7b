/** Checkpoints in the page: by address and from disk, kept for the next visit, stopped and continued, deleted, refused. */
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type CheckpointServer, checkpointServer } from "../support/checkpoint-server.ts";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";
import { testWith } from "../support/plugins.ts";

const GOLDEN = join(root, "tests", "golden", "sa2va-tiny-qwen2");
const WEIGHTS = "model.safetensors";
/** Precision of the tested checkpoints' weights. */
const HELD = { weightStorage: "q8", towerStorage: "f16" };
/** As in the file: the pocket model is not converted. */
const PLAIN = { weightStorage: "f32", towerStorage: "same" };

let lab: OpenPage;
let server: CheckpointServer;
let events: RunEvent[];
beforeAll(async () => {
  server = await checkpointServer(GOLDEN);
  ({ lab, events } = await openFollowed({ screen: "setup" }));
  await show(lab.page, HELD);
});
beforeEach(() => server.reset());
afterAll(async () => {
  await lab.close();
  await server.close();
});

/** Types an address and presses the first button; returns the text about its size. */
async function ask(address: string): Promise<string> {
  const { page } = lab;
  const field = page.getByTestId("address");
  if ((await field.count()) === 0) await page.getByTestId("open-address").click();
  await field.fill(address);
  await page.getByTestId("ask-address").click();
  await page.getByTestId("address-size").waitFor();
  return (await page.getByTestId("address-size").textContent()) ?? "";
}

/** The one listed problem, which is then dismissed. */
async function problem(): Promise<string> {
  const { page } = lab;
  await expect.poll(() => problems(page)).toHaveLength(1);
  const [sentence] = await problems(page);
  await page.getByTestId("problems").getByRole("button", { name: "Dismiss" }).click();
  return sentence as string;
}

async function weightsFrom(name: string): Promise<string> {
  const { page } = lab;
  const facts = page.getByTestId("model-facts");
  await expect.poll(async () => ((await facts.count()) === 0 ? "" : facts.textContent())).toContain(name);
  return (await page.getByTestId("weights-from").textContent()) ?? "";
}

/** Opens the pocket model in place of the loaded one. */
async function usePocketModel(): Promise<void> {
  await show(lab.page, PLAIN);
  await lab.page.getByRole("button", { name: "Use pocket model" }).click();
  await weightsFrom("pocket vague-model");
  await show(lab.page, HELD);
}

/** The list's line of a conversion. */
/** Presses *Delete…* of a stored conversion, and again to confirm. */
const remove = async (name: string): Promise<void> => {
  for (const _ of ["asks", "deletes"]) {
    await kept(name)
      .getByRole("button", { name: /^Delete/ })
      .click();
  }
};
const kept = (name: string) => lab.page.getByTestId("stored-models").locator("li", { hasText: name });

/** Names of all files below the page's folder of models, except the probe of free space, which comes and goes. */
async function storedFiles(): Promise<readonly string[]> {
  return lab.page.evaluate(async () => {
    const names: string[] = [];
    const visit = async (folder: FileSystemDirectoryHandle, path: string): Promise<void> => {
      for await (const [name, handle] of folder.entries()) {
        if (handle.kind === "directory") await visit(handle as FileSystemDirectoryHandle, `${path}${name}/`);
        else if (name !== "room.%new") names.push(path + name);
      }
    };
    const top = await navigator.storage.getDirectory();
    await visit(await top.getDirectoryHandle("models", { create: true }), "");
    return names;
  });
}

describe("a checkpoint by address", () => {
  it("is out of reach of the page itself: only its workers connect to other servers", async () => {
    const asked = `fetch(${JSON.stringify(`${server.url}config.json`)}).then(() => "answered", () => "refused")`;
    expect(await lab.page.evaluate(asked)).toBe("refused");
    expect(server.seen).toEqual([]);
  });

  it("says its size before a weight is fetched", async () => {
    expect(await ask(server.url)).toMatch(/^folder: \d files, 2\.0 MB from 127\.0\.0\.1:\d+$/);
    await expect.poll(() => lab.page.getByTestId("address-copy").textContent()).toMatch(/^A copy of .* is stored/);
    expect(server.weightBytes()).toBe(1);
    await expect.poll(() => lab.page.getByTestId("load-address").textContent()).toBe("Load 2.0 MB");
    expect(await problems(lab.page)).toEqual([]);
  });

  it("loads at the second press and is kept", async () => {
    await lab.page.getByTestId("load-address").click();
    expect(await weightsFrom("folder")).toBe("the files; the conversion is stored");
    expect(server.weightBytes()).toBeGreaterThan(1_900_000);
    await expect.poll(() => kept("folder").textContent()).toMatch(/q8, towers in f16, .*kB|MB/);
  });

  it("is read from the kept conversion at the next visit, and the server is not asked", async () => {
    await show(lab.page, PLAIN);
    await lab.page.reload();
    await untilReady(lab.page);
    await show(lab.page, HELD);
    await kept("folder").getByRole("button", { name: "Load" }).click();
    expect(await weightsFrom("folder")).toBe("the stored conversion");
    expect(server.seen).toEqual([]);
  });

  it("opened by its address again fetches the header of its weights only", async () => {
    await usePocketModel();
    await ask(server.url);
    await lab.page.getByTestId("load-address").click();
    expect(await weightsFrom("folder")).toBe("the stored conversion");
    // One request with read-ahead: a larger file would take eight mebibytes.
    const bodies = server.seen.filter(({ path, sent }) => path === WEIGHTS && sent > 1);
    expect(bodies).toHaveLength(1);
  });

  it("is found below a hub, whose list tells sizes and versions", async () => {
    await lab.page.getByTestId("hub").fill(server.hub);
    expect(await ask("owner/tiny@v2")).toMatch(/^tiny@v2: \d files, 2\.0 MB/);
    expect(server.seen.filter(({ method }) => method === "HEAD")).toEqual([]);
    expect(server.seen.some(({ path }) => path === "tree")).toBe(true);
  });

  it("is not asked for at a hub that settings bring until the user agrees", async () => {
    const { page } = lab;
    const hub = server.hub.replace("127.0.0.1", "localhost");
    const buffer = Buffer.from(JSON.stringify({ hub, weightStorage: "q8", towerStorage: "f16" }));
    await page.getByTestId("pick-config").setInputFiles({ name: "hub.json", mimeType: "application/json", buffer });
    await expect.poll(() => page.getByTestId("hub").inputValue()).toBe(hub);
    const press = async (answer: "cancel" | "allow"): Promise<void> => {
      await page.getByTestId("address").fill("owner/tiny@v2");
      await page.getByTestId("ask-address").click();
      await expect.poll(() => page.getByTestId("consent-hub").textContent()).toBe(hub);
      await page.getByTestId(`consent-${answer}`).click();
    };
    await press("cancel");
    await expect.poll(() => page.getByTestId("ask-address").textContent()).toBe("Check size");
    expect(server.seen).toEqual([]);
    await press("allow");
    await expect.poll(() => page.getByTestId("address-size").textContent()).toMatch(/^tiny@v2: /);
    expect(await ask("owner/tiny")).toMatch(/^tiny: /);
    await page.getByTestId("hub").fill(server.hub);
  });

  it("of a server that sends whole files only is announced as such and loads", async () => {
    server.manner = { ...server.manner, ranges: false, tag: "date" };
    await ask(server.url);
    await expect
      .poll(() => lab.page.getByTestId("address-ranges").textContent())
      .toMatch(/does not support range requests/);
    await lab.page.getByTestId("load-address").click();
    await expect.poll(() => kept("folder").count()).toBe(2);
    expect(await problems(lab.page)).toEqual([]);
  });

  it("that is stopped in the middle is listed as unfinished and continues where it stopped", async () => {
    const { page } = lab;
    const third = (path: string): { ETag: string } | undefined => (path === WEIGHTS ? { ETag: '"third"' } : undefined);
    // All bytes come in one request of eight mebibytes, which stalls in the middle.
    server.manner = { ...server.manner, ranges: false };
    server.fault = (path, _, { method, range }) => {
      const headers = third(path);
      if (headers === undefined) return null;
      return method === "GET" && range === null ? { headers, stallAfter: 1_200_000 } : { headers };
    };
    await ask(server.url);
    await page.getByTestId("load-address").click();
    await expect.poll(() => page.getByRole("progressbar").getAttribute("value")).toMatch(/^\d{6,}$/);
    await page.waitForTimeout(300);
    await page.getByRole("button", { name: "Stop loading" }).click();
    await expect.poll(() => kept("incomplete").count()).toBe(1);
    const parts = (await storedFiles()).filter((name) => name.endsWith(".bin")).length;
    expect(await problems(page)).toEqual([]);
    server.reset();
    server.fault = (path) => {
      const headers = third(path);
      return headers === undefined ? null : { headers };
    };
    await ask(server.url);
    await page.getByTestId("load-address").click();
    await expect.poll(() => kept("incomplete").count()).toBe(0);
    expect(await weightsFrom("folder")).toBe("the files; the conversion is stored");
    // The stored part stays; the missing one becomes a second part.
    expect((await storedFiles()).filter((name) => name.endsWith(".bin")).length).toBe(parts + 1);
    await expect.poll(() => kept("folder").count()).toBe(3);
  });

  it.each<[string, () => void, RegExp]>([
    [
      "keeps pages out",
      () => {
        server.manner = { ...server.manner, cors: false };
      },
      /127\.0\.0\.1:\d+ answers, but does not let this page read its files \(CORS\)/,
    ],
    ["refuses", () => (server.fault = () => ({ status: 401 })), /refuses it \(401\).*private or gated/],
    ["has nothing there", () => (server.fault = () => ({ status: 404 })), /config\.json is missing/],
    ["sends a page", () => (server.fault = () => ({ body: "<html>" })), /config\.json is not JSON/],
  ])("of a server that %s is refused in one sentence", async (_, spoil, sentence) => {
    const { page } = lab;
    spoil();
    await page.getByTestId("address").fill(server.url);
    await page.getByTestId("ask-address").click();
    expect(await problem()).toMatch(sentence);
    await expect.poll(() => page.getByTestId("load-address").count()).toBe(0);
  });

  it("that turns out to be wrong on the way leaves nothing kept", async () => {
    const before = await storedFiles();
    server.fault = (path) => (path === WEIGHTS ? { body: "PK\u0003\u0004 and so on, a zip under another name" } : null);
    await ask(server.url);
    await lab.page.getByTestId("load-address").click();
    expect(await problem()).toMatch(/model\.safetensors is not a usable safetensors file: it is a zip archive/);
    expect(await storedFiles()).toEqual(before);
    // The earlier model is still loaded.
    expect(await weightsFrom("folder")).toBe("the files; the conversion is stored");
  });

  it("that is still loading gives way to another that is requested", async () => {
    const { page } = lab;
    const headers = { ETag: '"fourth"' };
    server.manner = { ...server.manner, ranges: false };
    server.fault = (path, _, { method, range }) => {
      if (path !== WEIGHTS) return null;
      return method === "GET" && range === null ? { headers, stallAfter: 1_200_000 } : { headers };
    };
    await ask(server.url);
    await page.getByTestId("load-address").click();
    await expect.poll(() => page.getByRole("progressbar").getAttribute("value")).toMatch(/^\d{6,}$/);
    await page.getByRole("button", { name: "Use pocket model" }).click();
    await weightsFrom("pocket vague-model");
    await expect.poll(() => page.getByRole("progressbar").count()).toBe(0);
    // Nothing reads on: a reader would request the missing part again and load it over the pocket model.
    server.fault = (path) => (path === WEIGHTS ? { headers } : null);
    const asked = server.seen.length;
    server.cut();
    await page.waitForTimeout(5000);
    expect(server.seen.length).toBe(asked);
    await weightsFrom("pocket vague-model");
    await untilReady(page);
    expect(await problems(page)).toEqual([]);
    await remove("incomplete");
    await expect.poll(() => kept("incomplete").count()).toBe(0);
  });
});

describe("a checkpoint from disk", () => {
  it("is kept, and the next time not converted again", async () => {
    const { page } = lab;
    await page.getByTestId("pick-model").setInputFiles(GOLDEN);
    expect(await weightsFrom("sa2va-tiny-qwen2")).toBe("the files; the conversion is stored");
    await usePocketModel();
    await page.getByTestId("pick-model").setInputFiles(GOLDEN);
    expect(await weightsFrom("sa2va-tiny-qwen2")).toBe("the stored conversion");
  });

  it("is not deleted while another tab stores it", async () => {
    const before = await storedFiles();
    const locks = [...new Set(before.map((name) => `sa2va-lab/model/${name.split("/")[0]}`))];
    const other = await lab.context.newPage();
    await other.goto(`${lab.url}pocket/shards/files.json`);
    const hold = (name: string): void => void navigator.locks.request(name, () => new Promise(() => undefined));
    for (const lock of locks) await other.evaluate(hold, lock);
    await remove("sa2va-tiny-qwen2");
    expect(await problem()).toBe("Another tab is storing this conversion. Stop loading it there first");
    expect(await storedFiles()).toEqual(before);
    await other.close();
  });

  it("is deleted when that is confirmed, and all its files with it", async () => {
    const before = (await storedFiles()).length;
    await kept("sa2va-tiny-qwen2").getByRole("button", { name: "Delete" }).click();
    await kept("sa2va-tiny-qwen2").getByRole("button", { name: "Load" }).focus();
    expect(await storedFiles()).toHaveLength(before);
    await remove("sa2va-tiny-qwen2");
    await expect.poll(() => kept("sa2va-tiny-qwen2").count()).toBe(0);
    const after = await storedFiles();
    expect(after.length).toBeLessThan(before - 4);
    const folders = new Set(after.map((name) => name.split("/")[0]));
    expect(folders.size).toBe(await lab.page.getByTestId("stored-models").locator("li").count());
  });

  it("for whose copy there is no room says so before anything is fetched or written, and loads", async () => {
    const { page, context } = lab;
    const before = await storedFiles();
    const session = await context.newCDPSession(page);
    const { origin } = new URL(page.url());
    await session.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 100_000 });
    server.fault = (path) => (path === WEIGHTS ? { headers: { ETag: '"fifth"' } } : null);
    await ask(server.url);
    await expect
      .poll(() => page.getByTestId("address-copy").textContent())
      .toMatch(/^No copy will be stored, because it needs /);
    await page.getByTestId("pick-model").setInputFiles(GOLDEN);
    expect(await weightsFrom("sa2va-tiny-qwen2")).toBe("their files");
    const panel = page.locator("section", { has: page.getByTestId("model-facts") });
    await expect
      .poll(() => panel.textContent())
      .toMatch(/The conversion was not kept: it takes \d+ bytes and the browser grants less/);
    expect(await storedFiles()).toEqual(before);
    await session.send("Storage.overrideQuotaForOrigin", { origin });
    expect(await problems(page)).toEqual([]);
  });
});

describe("frozen features", () => {
  testWith("diagnostics")("of a run are kept, counted on the Runs screen, and deleted with one press", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", ...CHEAP_RUN, steps: "1", loops: "1", featureDisk: "1" });
    await usePocketModel();
    await untilReady(page);
    await page.getByTestId("strip-start").click();
    await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
    await show(page, { screen: "runs" });
    await expect.poll(() => page.getByTestId("kept-features").textContent()).toMatch(/features of \d+ pictures?$/);
    await page.getByTestId("delete-features").click();
    await expect.poll(() => page.getByTestId("kept-features").count()).toBe(0);
    const left = await page.evaluate(async () => {
      const top = await (await navigator.storage.getDirectory()).getDirectoryHandle("features");
      const names: string[] = [];
      for await (const [, folder] of top.entries()) {
        for await (const name of (folder as FileSystemDirectoryHandle).keys()) names.push(name);
      }
      return names;
    });
    expect(left).toEqual([]);
    expect(await problems(page)).toEqual([]);
  });
});
