/** Files and folders dropped on the page by a drop event of the browser's own. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeRegionShard } from "../../src/engine/data/write-shard.ts";
import { type OpenPage, openPage, problems } from "../support/page.ts";
import { row } from "../unit/data/make.ts";

let lab: OpenPage;
let place: string;
beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), "lab-drop-"));
  const files: Readonly<Record<string, number>> = {
    "one/a.arrow": 1,
    "two/a.arrow": 2,
    "one/train/b.arrow": 3,
    "one/train/deep/c.arrow": 4,
    "two/train/b.arrow": 5,
    "two/\u202eodd.arrow": 6,
  };
  for (const [path, rows] of Object.entries(files)) {
    mkdirSync(join(place, path, ".."), { recursive: true });
    writeFileSync(join(place, path), writeRegionShard(Array.from({ length: rows }, () => row())));
  }
  lab = await openPage({ screen: "data" }, { webgpu: false });
  await lab.page.getByTestId("data-counts").waitFor();
});
afterAll(async () => {
  await lab.close();
  rmSync(place, { recursive: true, force: true });
});

/** Drags paths over the middle of the page; the browser makes the items, as for files out of a file manager. */
async function drag(paths: readonly string[], ...types: ("dragEnter" | "dragOver" | "drop")[]): Promise<void> {
  const session = await lab.context.newCDPSession(lab.page);
  const data = { items: [], files: paths.map((path) => join(place, path)), dragOperationsMask: 1 };
  for (const type of types) await session.send("Input.dispatchDragEvent", { type, x: 640, y: 430, data });
  await session.detach();
}

/** Names of the shards that are open, by the page's own list. */
async function shards(): Promise<readonly string[]> {
  const { page } = lab;
  await page.getByTestId("data-counts").getByRole("button", { name: /shard/ }).click();
  const dialog = page.getByRole("dialog");
  const names = await dialog.locator("tbody td:first-child:not([colspan])").allTextContents();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  return names.map((name) => name.trim());
}

const rowsAre = (rows: number): Promise<void> =>
  expect
    .poll(() => lab.page.getByTestId("data-counts").textContent(), { timeout: 30_000 })
    .toMatch(new RegExp(`^${rows} rows`));

it("two files of one name and one of a name that turns its text: all rows are there, told apart", async () => {
  await drag(["one/a.arrow", "two/a.arrow", "two/\u202eodd.arrow"], "dragEnter", "dragOver");
  await lab.page.getByText("Drop shards, a folder of shards").waitFor();
  await drag(["one/a.arrow", "two/a.arrow", "two/\u202eodd.arrow"], "drop");
  await rowsAre(9);
  // Chromium tells some of its items apart itself, as "a (1)".
  expect((await shards()).toSorted()).toEqual([
    "\\u202eodd.arrow",
    expect.stringMatching(/^a(-2| \(1\))\.arrow$/),
    "a.arrow",
  ]);
  expect(await lab.page.getByText("Drop shards, a folder of shards").count()).toBe(0);
});

it("two folders of one name, with a folder inside: all rows are there, told apart", async () => {
  await drag(["one/train", "two/train"], "dragEnter", "dragOver", "drop");
  await rowsAre(12);
  expect((await shards()).toSorted()).toEqual([
    expect.stringMatching(/^train(-2| \(1\))\/b\.arrow$/),
    "train/b.arrow",
    "train/deep/c.arrow",
  ]);
  // Opened without WebGPU, which the page says; nothing else.
  expect((await problems(lab.page)).filter((problem) => !problem.startsWith("WebGPU"))).toEqual([]);
});
