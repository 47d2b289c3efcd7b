/** Wrong files through the page's own file inputs: each gives one sentence, and valid data stay usable. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BadFiles, type Fault, GOOD_ROWS, makeBadFiles, renameTensor } from "../fixtures/page/bad-files.ts";
import { type OpenPage, openFollowed, problems, type RunEvent, show, untilEvent, untilReady } from "../support/page.ts";
import { arePluggedIn } from "../support/plugins.ts";

let lab: OpenPage;
let files: BadFiles;
let events: RunEvent[];
beforeAll(async () => {
  files = await makeBadFiles();
  ({ lab, events } = await openFollowed({
    screen: "data",
    steps: "1",
    loops: "1",
    numGenerations: "2",
    promptsPerStep: "1",
    maxCompletionLength: "4",
    evalSteps: "0",
  }));
});
afterAll(async () => {
  await lab.close();
  files.remove();
});

/** Annotations of pictures that are not beside them. */
function coco(pictures: number): string {
  const ids = Array.from({ length: pictures }, (_, at) => at + 1);
  const box = { segmentation: [[0, 0, 2, 0, 2, 2]], bbox: [0, 0, 2, 2], area: 2, iscrowd: 0, category_id: 1 };
  return JSON.stringify({
    images: ids.map((id) => ({ id, file_name: `${id}.jpg`, width: 4, height: 3 })),
    annotations: ids.map((id) => ({ ...box, id, image_id: id, caption: "a cat" })),
    categories: [{ id: 1, name: "cat" }],
  });
}

/** As many rows are skipped as there are sentences; the list of data-tools shows each with its file. */
async function expectSkipped(...sentences: readonly RegExp[]): Promise<void> {
  const { page } = lab;
  const opener = page.getByTestId("skipped");
  await expect.poll(() => opener.textContent()).toBe(`${sentences.length} skipped…`);
  if (!arePluggedIn("data-tools")) return;
  await opener.click();
  const dialog = page.getByRole("dialog");
  await dialog.locator("tbody tr[data-index]").first().waitFor();
  const rows = await dialog.locator("tbody tr[data-index]").all();
  const told = await Promise.all(
    rows.map(async (row) => {
      const cells = await row.locator("td").allTextContents();
      return `${cells[0]}: ${cells[3]}`;
    }),
  );
  expect(told).toEqual(sentences.map((sentence) => expect.stringMatching(sentence)));
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
}

describe("a folder of shards with", () => {
  it.each<[string, Fault, number, RegExp]>([
    [
      "a shard that breaks off",
      "truncated",
      GOOD_ROWS,
      /truncated\.arrow: .*(truncated|ends|cut|breaks|shorter|missing)/i,
    ],
    ["a shard of other columns", "schema", GOOD_ROWS, /schema\.arrow: .*schema\.arrow has .*(column|image|mask)/i],
    ["text that is called .arrow", "text", GOOD_ROWS, /text\.arrow: .*Arrow/],
    [
      "a mask of another size",
      "mask",
      2 * GOOD_ROWS - 1,
      /mask\.arrow: the mask is 4 x 3 pixels, the picture \d+ x \d+/,
    ],
    ["an empty caption", "caption", 2 * GOOD_ROWS - 1, /caption\.arrow: .*(caption is empty|no answer)/],
  ])("%s names it once and keeps the good rows", async (_, fault, rows, sentence) => {
    const { page } = lab;
    await page.getByTestId("pick-shards").setInputFiles(files.folder(fault));
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(new RegExp(`^${rows} rows?`));
    await expectSkipped(sentence);
    await expect.poll(() => page.getByTestId("gallery").getByRole("button").count()).toBe(rows);
    await untilReady(page);
  });

  it("nothing but text is refused in one sentence, and the open rows can still be trained on", async () => {
    const { page } = lab;
    const before = await page.getByTestId("data-counts").textContent();
    await page.getByTestId("pick-shards").setInputFiles(files.alone("text"));
    await expect
      .poll(() => problems(page))
      .toEqual([expect.stringMatching(/^No usable row in .*the open rows are kept$/)]);
    await page.getByTestId("problems").getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toBe(before);
    await untilReady(page);
  });

  it.each([
    ["broken.json", '{"images": [{"id": 1, ', /^No usable row in broken\.json: it is cut off/],
    [
      "empty-coco.json",
      '{"images": [], "annotations": [], "categories": []}',
      /^No usable row in empty-coco\.json: it .*no annotations/,
    ],
    [
      "instances.json",
      coco(3),
      /^No usable row in instances\.json: the picture .*"1\.jpg".* does not exist \(the first of 3 rows\);/,
    ],
    [
      "mask-results.json",
      '[{"image_id": 1, "category_id": 1, "segmentation": {"size": [1, 1], "counts": "01"}, "score": 1, "step": 2}]',
      /^No usable row in mask-results\.json: it has COCO results .*answers of a model, without pictures\. .*Train → Held-out/,
    ],
    ["random.parquet", "neither columns nor rows", /^No usable row in random\.parquet: it is text, not Parquet/],
    [
      "footer.parquet",
      "PAR1 neither columns nor rows PAR1",
      /^No usable row in footer\.parquet: it is damaged: it states a footer/,
    ],
  ])(
    "%s alone is refused in one sentence that names the cause and replaces the one before, and the open rows are kept",
    async (name, text, cause) => {
      const { page } = lab;
      const before = await page.getByTestId("data-counts").textContent();
      const file = { name, mimeType: "application/octet-stream", buffer: Buffer.from(text) };
      await page.getByTestId("pick-shard-files").setInputFiles([file]);
      await expect.poll(() => problems(page)).toEqual([expect.stringMatching(cause)]);
      expect((await problems(page))[0]).toMatch(/the open rows are kept$/);
      await expect.poll(() => page.getByTestId("data-counts").textContent()).toBe(before);
      await untilReady(page);
    },
  );

  it("nothing but a shard that breaks off before its first row keeps the open rows; the error goes with good files", async () => {
    const { page } = lab;
    const before = await page.getByTestId("data-counts").textContent();
    await page.getByTestId("pick-shards").setInputFiles(files.alone("truncated"));
    await expect
      .poll(() => problems(page))
      .toEqual([expect.stringMatching(/^No usable row in .*cut off.*the open rows are kept$/)]);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toBe(before);
    await untilReady(page);
    // Its name says that another shard is missing; that is not why it has no row.
    const buffer = readFileSync(join(files.alone("truncated"), "truncated.arrow"));
    const numbered = { name: "data-00000-of-00002.arrow", mimeType: "application/octet-stream", buffer };
    await page.getByTestId("problems").getByRole("button", { name: "Dismiss" }).click();
    await page.getByTestId("pick-shard-files").setInputFiles([numbered]);
    await expect
      .poll(() => problems(page))
      .toEqual([
        expect.stringMatching(
          /^No usable row in data-00000-of-00002\.arrow: record batch 1 is cut off at byte \d+: it needs \d+ bytes; the file has no complete row; the open rows are kept$/,
        ),
      ]);
    await page.getByTestId("pick-shard-files").setInputFiles([join(files.folder("text"), "good.arrow")]);
    await expect.poll(() => problems(page)).toEqual([]);
    await page.getByRole("heading", { name: "good.arrow" }).waitFor();
    await untilReady(page);
  });

  it("nothing but a table of other columns says that no row can be used, and Start says why", async () => {
    const { page } = lab;
    await page.getByTestId("pick-shards").setInputFiles(files.alone("schema"));
    await page.getByText("No usable rows in these files").waitFor();
    await expectSkipped(/./);
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("title")).toMatch(/No rows are loaded/);
    // Beside the reason, its columns can be corrected and the rows before it opened again.
    await page.getByRole("button", { name: "Correct the columns…" }).click();
    await page.getByRole("dialog").getByLabel("Mask", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Back to good.arrow" }).click();
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(new RegExp(`^${GOOD_ROWS} rows?`));
    // Files without rows are not offered again.
    await page.getByRole("button", { name: "Use demo shard" }).first().click();
    await expect.poll(() => page.getByTestId("last-time").textContent()).toMatch(/^Last time: good\.arrow/);
    await page.getByTestId("last-time").getByRole("button", { name: "Open good.arrow" }).click();
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(new RegExp(`^${GOOD_ROWS} rows?`));
  });

  it("good files again repairs everything", async () => {
    const { page } = lab;
    await page.getByTestId("pick-shard-files").setInputFiles([join(files.folder("text"), "good.arrow")]);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(new RegExp(`^${GOOD_ROWS} rows?`));
    await expect.poll(() => page.getByTestId("skipped").count()).toBe(0);
    await untilReady(page);
    expect(await problems(page)).toEqual([]);
  });
});

describe("a model folder", () => {
  /** Picks the file, waits for its sentence and dismisses it. */
  async function refused(folder: string): Promise<string> {
    const { page } = lab;
    await page.getByTestId("pick-model").setInputFiles(folder);
    await expect.poll(() => problems(page)).toHaveLength(1);
    const [sentence] = await problems(page);
    await page.getByTestId("problems").getByRole("button", { name: "Dismiss" }).click();
    return sentence as string;
  }

  beforeAll(() => show(lab.page, { screen: "setup" }));

  it("without its tokenizer is refused in one sentence", async () => {
    const folder = files.model("no-tokenizer", (path) => rmSync(join(path, "tokenizer.json")));
    expect(await refused(folder)).toMatch(/tokenizer\.json/);
  });

  it("without one of its tensors is refused by the tensor's name", async () => {
    let name = "";
    const folder = files.model("no-tensor", (path) => {
      name = renameTensor(path);
    });
    expect(await refused(folder)).toContain(name);
  });

  it("without a config.json is refused before anything is read", async () => {
    const folder = files.model("no-config", (path) => rmSync(join(path, "config.json")));
    expect(await refused(folder)).toMatch(/config\.json is missing/);
  });

  it("that was refused leaves the model that was loaded, ready to train", async () => {
    const { page } = lab;
    await expect.poll(() => page.getByTestId("model-facts").textContent()).toMatch(/pocket|model/i);
    await untilReady(page);
    await page.getByTestId("strip-start").click();
    await untilEvent(events, 0, (event) => event.type === "step");
    await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
    expect(await problems(page)).toEqual([]);
  });

  it("that is good takes its place", async () => {
    const { page } = lab;
    await show(page, { screen: "setup" });
    await page.getByTestId("pick-model").setInputFiles(files.model("another-model", () => undefined));
    await expect
      .poll(() =>
        page
          .getByTestId("model-facts")
          .textContent()
          .catch(() => ""),
      )
      .toMatch(/another-model/);
    await untilReady(page);
  });
});

it("no wrong file writes an error to the console", () => {
  expect(lab.consoleErrors).toEqual([]);
});
