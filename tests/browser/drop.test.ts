/** Files and folders dropped on the page by a real drop event of the browser. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strToU8, zipSync } from "fflate";
import type { CDPSession } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import type { KeptFolder } from "../../src/engine/storage/kept-folders.ts";
import { type OpenPage, openPage, problems, show } from "../support/page.ts";
import { arePluggedIn, testWith } from "../support/plugins.ts";
import { png, row } from "../unit/data/make.ts";

let lab: OpenPage;
/** One session for the whole file: a session that ends takes its drag with it. */
let devtools: CDPSession;
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
  mkdirSync(join(place, "unusable"));
  writeFileSync(join(place, "unusable/a.arrow"), writeRegionShard([row({}, "")]));
  writeFileSync(join(place, LONG), writeRegionShard([row(), row(), row()]));
  const blue = row({ image: { bytes: png(32, 24, 255), path: "a.jpg" } });
  mkdirSync(join(place, "blue"));
  writeFileSync(join(place, "blue/a.arrow"), writeRegionShard([blue, row()]));
  writeRun();
  lab = await openPage({ screen: "data" }, { webgpu: false });
  await lab.page.getByTestId("data-counts").waitFor();
  devtools = await lab.context.newCDPSession(lab.page);
});
afterAll(async () => {
  await lab.close();
  rmSync(place, { recursive: true, force: true });
});

/** A file with a name longer than a small window is wide. */
const LONG = `${"a-set-of-photographs-".repeat(4)}.arrow`;

/** A title of one long word, as nobody expects it. */
const TITLE = "verylongword".repeat(20);

/** The manifest of a run under another id and title. */
const otherManifest = (text: string, id = "other"): Uint8Array =>
  strToU8(JSON.stringify({ ...(JSON.parse(text) as object), id, title: TITLE }));

/** The recorded run under another id: as a zip, as a zip that breaks off, has a changed digit or a changed byte in its rollouts, as a folder with damaged curves; and no data at all. */
function writeRun(): void {
  const from = join(root, "public/pocket/recorded");
  const [own = ""] = readdirSync(from).filter((name) => name !== "files.json");
  const files: Record<string, Uint8Array> = {};
  for (const path of readdirSync(join(from, own), { recursive: true, encoding: "utf8" })) {
    if (!/\.\w+$/.test(path)) continue;
    const bytes = readFileSync(join(from, own, path));
    files[`other/${path}`] = path === "run.json" ? otherManifest(String(bytes)) : bytes;
  }
  const zip = zipSync(files);
  writeFileSync(join(place, "other.zip"), zip);
  writeFileSync(join(place, "cut.zip"), zip.subarray(0, zip.length / 2));
  // As the page writes them: stored without compression.
  const stored = zipSync(files, { level: 0 });
  const changed = (path: string, by: number): Uint8Array => {
    const copy = stored.slice();
    // The first occurrence of the name precedes the bytes; the last one is in the directory.
    const at = Buffer.from(copy).indexOf(path) + path.length + by;
    copy[at] = (copy[at] as number) ^ 1;
    return copy;
  };
  writeFileSync(join(place, "digit.zip"), changed("other/metrics.jsonl", 40));
  writeFileSync(join(place, "rollouts.zip"), changed("other/rollouts/step-000010.arrow", 5000));
  const { "other/metrics.jsonl": metrics = new Uint8Array(), ...rest } = files;
  const manifest = otherManifest(Buffer.from(rest["other/run.json"] ?? []).toString(), "kept");
  const kept = (lines: Uint8Array) =>
    zipSync(renamed({ ...rest, "other/run.json": manifest, "other/metrics.jsonl": lines }));
  writeFileSync(join(place, "kept.zip"), kept(metrics));
  const differing = Buffer.from(metrics)
    .toString()
    .replace(/"loss":/, '"loss":1');
  writeFileSync(join(place, "differing.zip"), kept(Buffer.from(differing)));
  mkdirSync(join(place, "damaged"));
  writeFileSync(join(place, "damaged/run.json"), files["other/run.json"] as Uint8Array);
  writeFileSync(join(place, "damaged/metrics.jsonl"), '{"step": 1}\n{"step"\n{"step": 3}\n');
  writeFileSync(join(place, "notes.txt"), "no data");
}

/** The same files in the folder "kept". */
const renamed = (files: Readonly<Record<string, Uint8Array>>): Record<string, Uint8Array> =>
  Object.fromEntries(Object.entries(files).map(([path, bytes]) => [path.replace(/^other/, "kept"), bytes]));

/** Drags paths over the middle of the page; the browser creates the items, as for files from a file manager. */
async function drag(paths: readonly string[], ...types: ("dragEnter" | "dragOver" | "drop")[]): Promise<void> {
  const data = { items: [], files: paths.map((path) => join(place, path)), dragOperationsMask: 1 };
  for (const type of types) await devtools.send("Input.dispatchDragEvent", { type, x: 640, y: 430, data });
}

/** As many shards are open as there are names, sorted as the list of data-tools shows them. */
async function expectShards(...names: readonly unknown[]): Promise<void> {
  const { page } = lab;
  const opener = page.getByTestId("data-counts").getByRole("button", { name: /shard/ });
  await expect.poll(() => opener.textContent()).toMatch(new RegExp(`^${names.length} shards?,`));
  if (!arePluggedIn("data-tools")) return;
  await opener.click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("tbody tr").first().waitFor();
  const listed = await dialog.locator("tbody td:first-child:not([colspan])").allTextContents();
  expect(listed.map((name) => name.trim()).toSorted()).toEqual(names);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

const rowsAre = (rows: number): Promise<void> =>
  expect.poll(() => lab.page.getByTestId("data-counts").textContent()).toMatch(new RegExp(`^${rows} rows?`));

/** Exports are archives, which a plug-in opens. */
const ARCHIVES: readonly (readonly [string, string, RegExp])[] = [
  ["an export that breaks off", "cut.zip", /cut\.zip/],
  ["an export with a changed digit", "digit.zip", /metrics\.jsonl in digit\.zip .*checksum/],
  ["an export with a changed byte in its rollouts", "rollouts.zip", /step-000010\.arrow in rollouts\.zip .*checksum/],
];

it.each<readonly [string, string, RegExp]>([
  ["text", "notes.txt", /notes\.txt/],
  ...(arePluggedIn("archives") ? ARCHIVES : []),
  ["a run with damaged curves", "damaged", /metrics\.jsonl/],
])("%s is refused in one sentence and nothing else changes", async (_, path, sentence) => {
  const { page } = lab;
  const before = await page.getByTestId("data-counts").textContent();
  await drag([path], "dragEnter", "dragOver", "drop");
  const told = async () => (await problems(page)).filter((problem) => !problem.startsWith("WebGPU"));
  await expect.poll(told).toEqual([expect.stringMatching(sentence)]);
  await expect.poll(() => page.getByTestId("data-counts").textContent()).toBe(before);
  await page.getByTestId("problems").locator("div", { hasText: sentence }).getByRole("button").click();
});

testWith("archives")("an exported run opens as a run, read-only, beside the rows that are open", async () => {
  const { page } = lab;
  await drag(["other.zip"], "dragEnter", "dragOver", "drop");
  await page.getByText("imported run, read-only").waitFor();
  expect(page.url()).toMatch(/screen=train.*run=other/);
  const scrolled = (): Promise<number> => page.evaluate("document.documentElement.scrollWidth - innerWidth");
  await page.getByRole("heading", { name: TITLE }).waitFor();
  await expect.poll(scrolled).toBe(0);
  await show(page, { screen: "train", tab: "held-out", run: "other" });
  await expect.poll(() => page.getByTestId("eval-where").textContent()).toMatch(/48 report rows, after 25 steps/);
  await show(page, { screen: "train", tab: "rollouts", run: "other", step: "10" });
  await expect.poll(() => page.getByTestId("rollout-card").count()).toBe(8);
  // With a picture, since the run's training rows are open.
  await page.getByTestId("rollout-card").first().getByRole("img").waitFor();
});

testWith("archives", "run-address")("an exported run is listed as one that cannot be changed here", async () => {
  const { page } = lab;
  await show(page, { screen: "runs" });
  const listed = page.getByTestId("runs-elsewhere").locator("tbody tr");
  await expect.poll(() => listed.count()).toBe(2);
  await expect.poll(() => listed.last().textContent()).toMatch(/25 \/ 25none, so it cannot be forked/);
  // The long title leaves room for the other columns.
  const inView = listed.last().locator("td").nth(1);
  await expect.poll(async () => ((await inView.boundingBox())?.x ?? 9999) < 1280).toBe(true);
});

it("two files of one name and one of a name that turns its text: all rows are there, distinguished", async () => {
  const { page } = lab;
  await show(page, { screen: "data" });
  await page.getByTestId("data-counts").waitFor();
  await drag(["one/a.arrow", "two/a.arrow", "two/\u202eodd.arrow"], "dragEnter", "dragOver");
  await page.getByText("Drop shards, a folder of shards").waitFor();
  // Rows that appear during the drag put another element under the pointer, so the drop enters it.
  await page.evaluate(`(() => {
    const late = document.createElement("div");
    late.id = "late";
    late.style = "position: fixed; inset: 0; z-index: 99";
    document.body.append(late);
  })()`);
  await drag(["one/a.arrow", "two/a.arrow", "two/\u202eodd.arrow"], "drop");
  await page.evaluate("document.getElementById('late').remove()");
  await rowsAre(9);
  // Chromium itself renames some of its items, as "a (1)".
  await expectShards("\\u202eodd.arrow", expect.stringMatching(/^a(-2| \(1\))\.arrow$/), "a.arrow");
  await expect.poll(() => page.getByText("Drop shards, a folder of shards").count()).toBe(0);
});

it("a file of the same name in another folder: its own picture stands behind its rows", async () => {
  const { page } = lab;
  /** Mean blue of the first tile. */
  const blue = (): Promise<number> =>
    page
      .getByTestId("gallery")
      .getByRole("img")
      .first()
      .evaluate((element) => {
        const canvas = element as HTMLCanvasElement;
        const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(
          0,
          0,
          canvas.width,
          canvas.height,
        );
        let sum = 0;
        for (let at = 2; at < data.length; at += 4) sum += data[at] as number;
        return sum / (data.length / 4);
      });
  await drag(["one/a.arrow"], "dragEnter", "dragOver", "drop");
  await rowsAre(1);
  await expect.poll(blue).toBeLessThan(60);
  await drag(["blue/a.arrow"], "dragEnter", "dragOver", "drop");
  await rowsAre(2);
  await expect.poll(blue).toBeGreaterThan(90);
});

it("a folder with a file that the system refuses to open: the file is named, the other rows are there", async () => {
  const { page } = lab;
  await page.evaluate(`(() => {
    const { getFile } = FileSystemFileHandle.prototype;
    FileSystemFileHandle.prototype.getFile = function () {
      return this.name === "c.arrow" ? Promise.reject(new DOMException("Not allowed", "NotAllowedError")) : getFile.call(this);
    };
  })()`);
  await drag(["one/train"], "dragEnter", "dragOver", "drop");
  await rowsAre(3);
  const sentence = "train/deep/c.arrow was left out: the browser may not read it; drop it again and allow access";
  await expect.poll(() => problems(page)).toContain(sentence);
  await page.getByTestId("problems").locator("div", { hasText: sentence }).getByRole("button").click();
  await page.reload();
  await page.getByTestId("data-counts").waitFor();
});

it("two folders of one name, with a folder inside: all rows are there, distinguished", async () => {
  await drag(["one/train", "two/train"], "dragEnter", "dragOver", "drop");
  await rowsAre(12);
  await expectShards(expect.stringMatching(/^train(-2| \(1\))\/b\.arrow$/), "train/b.arrow", "train/deep/c.arrow");
  // The page was opened without WebGPU and says so; it reports nothing else.
  expect((await problems(lab.page)).filter((problem) => !problem.startsWith("WebGPU"))).toEqual([]);
});

it("a file without rows beside a folder: name and rows are those of the folder alone", async () => {
  const { page } = lab;
  await drag(["one/train", "notes.txt"], "dragEnter", "dragOver", "drop");
  await rowsAre(7);
  await page.getByRole("heading", { level: 1, name: "train", exact: true }).waitFor();
  await expectShards("b.arrow", "deep/c.arrow");
  // The file is named where those are that a folder holds.
  if (arePluggedIn("data-tools")) {
    await page.getByTestId("shards").click();
    await page.getByText("1 other files were ignored").click();
    await page.getByText("notes.txt: not of a kind that holds rows").waitFor();
    await page.keyboard.press("Escape");
  }
  expect((await problems(page)).filter((problem) => !problem.startsWith("WebGPU"))).toEqual([]);
});

testWith("archives")(
  "a stored run and rows dropped together: the run is shown or refused in a sentence, the rows open",
  async () => {
    const { page } = lab;
    // The recorded run, as if it was trained here.
    await page.evaluate(async (title) => {
      const base = new URL("pocket/recorded/", document.baseURI);
      const files = (await (await fetch(new URL("files.json", base))).json()) as { readonly path: string }[];
      const runs = await (await navigator.storage.getDirectory()).getDirectoryHandle("runs", { create: true });
      for (const { path } of files) {
        const [name = "", ...folders] = path.split("/").slice(1).reverse();
        let folder = await runs.getDirectoryHandle("kept", { create: true });
        for (const one of folders.reverse()) folder = await folder.getDirectoryHandle(one, { create: true });
        const response = await fetch(new URL(path, base));
        const writer = await (await folder.getFileHandle(name, { create: true })).createWritable();
        if (path.endsWith("run.json")) {
          const manifest = (await response.json()) as object;
          await writer.write(JSON.stringify({ ...manifest, id: "kept", title }));
        } else await writer.write(await response.arrayBuffer());
        await writer.close();
      }
    }, "kept run");
    const told = async () => (await problems(page)).filter((problem) => !problem.startsWith("WebGPU"));
    const known = /^The run in kept\.zip is stored in this browser already, with all of its steps; nothing was changed/;
    const differs = /^Run "kept" is stored in this browser with 25 steps, which the opened run does not continue/;
    await drag(["kept.zip"], "dragEnter", "dragOver", "drop");
    await expect.poll(told).toEqual([expect.stringMatching(known)]);
    await page.getByRole("heading", { name: "kept run" }).waitFor();
    expect(page.url()).toMatch(/screen=train.*run=kept/);
    await drag(["differing.zip", "one/train"], "dragEnter", "dragOver", "drop");
    await rowsAre(7);
    // What was said of the drop before is gone.
    await expect.poll(told).toEqual([expect.stringMatching(differs)]);
    // What opens again later is the rows alone.
    await expect.poll(keptNames).toContain("data train: train");
    // Sentences about a run go with it, and its other version opens.
    await show(page, { screen: "runs" });
    await page.locator("tr[data-run=kept]").getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Delete…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await expect.poll(told).toEqual([]);
    await drag(["differing.zip"], "dragEnter", "dragOver", "drop");
    await page.getByText("imported run, read-only").waitFor();
    expect(await told()).toEqual([]);
    await show(page, { screen: "data" });
    await page.reload();
    await page.getByTestId("data-counts").waitFor();
  },
);

it("rows of the user that rows of the page replace are offered again", async () => {
  const { page } = lab;
  await show(page, { screen: "data" });
  await page.getByTestId("pick-shard-files").setInputFiles([join(place, LONG)]);
  await rowsAre(3);
  await page.getByRole("button", { name: "Use demo shard" }).click();
  await rowsAre(320);
  const offer = page.getByTestId("last-time");
  await expect.poll(() => offer.textContent()).toContain(`Last time: ${LONG}`);
  const open = offer.getByRole("button", { name: `Open ${LONG}` });
  // In a small window nothing is cut, and the notice is closed beside it.
  await page.setViewportSize({ width: 390, height: 844 });
  const [whole, button, close] = await Promise.all(
    [offer, open, offer.getByRole("button", { name: "Dismiss" })].map((one) => one.boundingBox()),
  );
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
  expect((button?.x ?? 0) + (button?.width ?? 0)).toBeLessThan(close?.x ?? 0);
  expect((close?.x ?? 0) + (close?.width ?? 0)).toBeLessThanOrEqual((whole?.x ?? 0) + (whole?.width ?? 0));
  await page.setViewportSize({ width: 1440, height: 900 });
  await open.click();
  await rowsAre(3);
  await expect.poll(() => offer.count()).toBe(0);
});

/** What the page has kept for a later visit, with the handles that open it. It keeps a folder shortly after the rows are shown. */
const keptNames = (): Promise<unknown[]> =>
  lab.page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const opening = indexedDB.open("sa2va-lab", 1);
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const all = opening.result.transaction("folders").objectStore("folders").getAll() as IDBRequest<KeptFolder[]>;
          opening.result.close();
          all.onsuccess = () =>
            resolve(all.result.map((one) => `${one.kind} ${one.name}: ${one.handles.map(({ name }) => name)}`));
          all.onerror = () => reject(all.error);
        };
      }),
  );

it("files without a usable row are not offered at the next visit", async () => {
  const { page } = lab;
  await show(page, { screen: "data" });
  await drag(["unusable"], "dragEnter", "dragOver", "drop");
  await page.getByRole("heading", { name: "No usable rows in these files" }).waitFor();
  await drag(["one/train"], "dragEnter", "dragOver", "drop");
  await rowsAre(7);
  await expect.poll(keptNames).toContain("data train: train");
  expect(await keptNames()).not.toContain("data unusable: unusable");
});

it("a folder that was opened by hand is offered at the next visit, and one click opens it", async () => {
  const { page } = lab;
  const bytes = [...readFileSync(join(place, "one/train/b.arrow"))];
  // A folder of the private file system in the place of the one that the user picks.
  await page.evaluate(async (content) => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("mine", { create: true });
    const writer = await (await folder.getFileHandle("b.arrow", { create: true })).createWritable();
    await writer.write(Uint8Array.from(content));
    await writer.close();
  }, bytes);
  const picks =
    "window.showDirectoryPicker = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('mine')";
  await page.addInitScript(picks);
  await page.evaluate(picks);
  await show(page, { screen: "data" });
  await page.getByRole("button", { name: "Open folder…" }).click();
  await rowsAre(3);
  await expect.poll(keptNames).toContain("data mine: mine");
  await page.reload();
  const offer = page.getByTestId("last-time");
  await expect.poll(() => offer.textContent()).toMatch(/^Last time: mine/);
  await rowsAre(320);
  // Rows of the page are open, so the page says where the user's go.
  await page.getByTestId("drop-zone").waitFor();
  await offer.getByRole("button", { name: "Open mine" }).click();
  await rowsAre(3);
  await expect.poll(() => offer.count()).toBe(0);
  await expect.poll(() => page.getByTestId("drop-zone").count()).toBe(0);
});

it("a folder whose permission has lapsed is asked for by that click alone, and a refusal says what to do", async () => {
  const { page } = lab;
  // Handles of the private file system never ask. These do, as those of the disk: "prompt" until the user answers.
  await page.addInitScript(() => {
    const asked = { answers: ["denied", "granted"], state: "prompt", clicks: [] as boolean[] };
    Object.assign(window, { asked });
    Object.assign(FileSystemHandle.prototype, {
      queryPermission: async () => asked.state,
      requestPermission: async () => {
        asked.clicks.push(navigator.userActivation.isActive);
        asked.state = asked.answers.shift() ?? asked.state;
        return asked.state;
      },
    });
  });
  const clicks = (): Promise<boolean[]> =>
    page.evaluate(() => (window as unknown as { asked: { clicks: boolean[] } }).asked.clicks);
  await page.reload();
  const open = page.getByTestId("last-time").getByRole("button", { name: "Open mine" });
  await open.waitFor();
  await rowsAre(320);
  expect(await clicks()).toEqual([]);
  await open.click();
  await expect
    .poll(() => problems(page))
    .toContainEqual(expect.stringMatching(/may not read .*mine.*; open the folder/));
  await rowsAre(320);
  await open.click();
  await rowsAre(3);
  expect(await clicks()).toEqual([true, true]);
  // The refusal goes once the folder is open.
  await expect.poll(async () => (await problems(page)).join()).not.toMatch(/may not read/);
});

it("the tools of a chart cover neither its title nor those beside it, also in a narrow one", async () => {
  const { page } = lab;
  await show(page, { screen: "train", run: "", metrics: "loop1/completions/max_terminated_length" });
  const chart = page.getByTestId("chart-metric-loop1/completions/max_terminated_length");
  await chart.scrollIntoViewIfNeeded();
  await chart.evaluate((element) => element.setAttribute("style", "width: 180px"));
  await chart.hover();
  const title = await chart.locator("h2").boundingBox();
  for (const tool of await chart.locator("[data-copies] button").all()) {
    const box = await tool.boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual((title?.y ?? 0) + 1);
    await tool.click({ trial: true });
  }
});
