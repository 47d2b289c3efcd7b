/**
 * The model used outside training: a suite, regions of a row, phrases, a picture, objects of a clip; and the fit before
 * a start.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { encode } from "fast-png";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { violations } from "../support/axe.ts";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";
import { boxMask } from "../unit/data/make.ts";

/** Frames of the drawn clip: together they are larger than any picture that is fetched. */
const CLIP_FRAMES = 20;
const [CLIP_HEIGHT, CLIP_WIDTH] = [160, 240];

/** Files dropped on the page, which reads them when it shows them. */
const scratch = mkdtempSync(join(tmpdir(), "lab-clip-"));

/** Brightness of a frame outside the box. */
function clipShade(frame: number): number {
  return 20 + 8 * frame;
}

/** A box that crosses a clip, as a folder of frames with run-length masks. */
function clipFolder(): string {
  const folder = join(scratch, "clip");
  mkdirSync(join(folder, "JPEGImages", "drawn"), { recursive: true });
  const names = Array.from({ length: CLIP_FRAMES }, (_, at) => String(at).padStart(5, "0"));
  for (const [at, name] of names.entries()) {
    const data = new Uint8Array(CLIP_HEIGHT * CLIP_WIDTH * 3).fill(clipShade(at));
    for (let y = 60; y < 100; y++) data.fill(230, 3 * (y * CLIP_WIDTH + 4 * at), 3 * (y * CLIP_WIDTH + 4 * at + 32));
    const picture = encode({ width: CLIP_WIDTH, height: CLIP_HEIGHT, data, channels: 3, depth: 8 });
    writeFileSync(join(folder, "JPEGImages", "drawn", `${name}.png`), picture);
  }
  const expressions = { "0": { exp: "the bright box", obj_id: [0], anno_id: [0] } };
  writeFileSync(
    join(folder, "meta_expressions.json"),
    JSON.stringify({ videos: { drawn: { frames: names, expressions } } }),
  );
  const masks = names.map((_, at) => boxMask(CLIP_HEIGHT, CLIP_WIDTH, 4 * at, 60, 32, 40));
  writeFileSync(join(folder, "mask_dict.json"), JSON.stringify({ "0": masks }));
  return folder;
}

describe("trying the model out", () => {
  let lab: OpenPage;
  beforeAll(async () => {
    // The demo's own model names no object.
    lab = await openPage({ screen: "data", preset: "real" });
    await untilReady(lab.page);
  });
  afterAll(async () => {
    await lab.close();
    rmSync(scratch, { recursive: true });
  });

  const ask = async (): Promise<string> => {
    const { page } = lab;
    await page.getByTestId("try-ask").click();
    await page.getByTestId("try-answer").waitFor();
    return (await page.getByTestId("try-answer").textContent()) ?? "";
  };

  it("scores the rows of a suite, continues after a stop and a reload, and shows the worst rows first", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "held-out", part: "suites" });
    await page.getByTestId("suite-rows").fill("16");
    await page.getByTestId("suite-rows").blur();
    await page.getByRole("radio", { name: "Forced [SEG]" }).click();
    await page.getByTestId("suite-start").click();
    await expect
      .poll(() => page.getByTestId("suite-progress").textContent())
      .toMatch(/^Answering, [1-9]\d* of 16 rows/);
    await expect.poll(() => page.getByTestId("suite-rows").isDisabled()).toBe(true);
    await page.getByTestId("suite-stop").click();
    // After a reload the page offers to go on, with the choices of then.
    await page.reload();
    await untilReady(page);
    for (const place of [{ screen: "train", tab: "held-out" }, { screen: "home" }] as const) {
      await show(page, { ...place, part: "run" });
      await expect
        .poll(() => page.getByTestId("stopped-suites").textContent())
        .toBe("Continue 1 stopped evaluation suite");
    }
    await page.getByTestId("stopped-suites").click();
    const stopped = page.getByTestId("stopped-evaluation");
    await expect.poll(() => stopped.textContent()).toMatch(/^masks 16 rows, pocket model/);
    await stopped.getByRole("button", { name: "Continue" }).click();
    await expect.poll(() => page.getByTestId("suite-progress").textContent()).toMatch(/[1-9]\d* answers kept$/);
    const table = page.getByTestId("suite-scores");
    await table.waitFor();
    await expect.poll(() => page.getByTestId("suite-counts").textContent()).toMatch(/^16 rows of \d+ pictures, 95 %/);
    await expect
      .poll(() => table.getByRole("rowheader").allTextContents())
      .toEqual(["cIoU", "gIoU", ...[5, 6, 7, 8, 9].map((bound) => `P@0.${bound}`)]);
    const scores = await page.getByTestId("suite-cards").locator("small b").allTextContents();
    expect(scores.length).toBe(12);
    expect(scores.map(Number)).toEqual(scores.map(Number).sort((a, b) => a - b));
    // It is now in the list, and its table can be saved.
    const earlier = page.getByTestId("earlier-evaluations").locator("tbody tr");
    await earlier.waitFor();
    await expect.poll(() => earlier.getByRole("rowheader").allTextContents()).toEqual(["masks"]);
    await earlier.getByRole("checkbox").check();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save table as Parquet" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("evaluations.parquet");
    // A report without rows has no headings for them.
    await earlier.getByRole("button", { name: "Show" }).click();
    await expect.poll(() => page.getByRole("heading", { name: "Rows", exact: true }).count()).toBe(0);
    await table.waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await problems(page)).toEqual([]);
    await show(page, { screen: "data" });
  });

  it("describes the row's region and a box, each by itself", async () => {
    const { page } = lab;
    await page.getByTestId("gallery").getByRole("button").nth(2).click();
    await page.getByRole("tab", { name: "Try the model" }).click();
    await page.getByTestId("try-add-box").click();
    await ask();
    const captions = await page.getByTestId("try-answer").locator("dd").allTextContents();
    expect(captions).toHaveLength(2);
    // The pocket model knows the demo rows: the row's region is the red chair.
    expect(captions[0]).toMatch(/chair/);
  });

  it("segments phrases and compares with the row", async () => {
    const { page } = lab;
    await page.getByRole("radio", { name: "Segment phrases" }).click();
    await page
      .getByTestId("try-phrases")
      .fill("the red chair at the bottom left\nthe large green chair at the top right");
    const text = await ask();
    const shown = [...text.matchAll(/IoU with the row's mask ([\d.]+)/g)].map((found) => Number(found[1]));
    expect(shown).toHaveLength(2);
    expect(shown[0]).toBeGreaterThan(0.5);
    expect(shown[1]).toBeLessThan(0.2);
  });

  it("keeps its answer while keys choose another mask, and its place while words are typed", async () => {
    const { page } = lab;
    const masks = page.getByTestId("try-answer").getByRole("radio");
    await masks.first().focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => masks.nth(1).isChecked()).toBe(true);
    await page.setViewportSize({ width: 1280, height: 420 });
    const words = page.getByTestId("try-phrases");
    await words.focus();
    await words.evaluate((element) => element.scrollIntoView({ block: "end" }));
    const before = await words.boundingBox();
    await page.keyboard.type("x");
    await expect.poll(() => words.inputValue()).toMatch(/x/);
    expect(await words.boundingBox()).toEqual(before);
    await page.setViewportSize({ width: 1280, height: 860 });
  });

  it("takes a picture of the user, with a box that was drawn", async () => {
    const { page } = lab;
    await page.getByTestId("try-picture").setInputFiles(join(root, "tests/golden/sa2va-tiny-qwen2/image.png"));
    await page.getByRole("radio", { name: "Describe regions" }).click();
    await page.getByRole("button", { name: "Remove Box 1" }).click();
    const frame = await page.getByTestId("try-draw").boundingBox();
    if (frame === null) throw new Error("The picture has no place on the page");
    await page.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.3);
    await page.mouse.down();
    await page.mouse.move(frame.x + frame.width * 0.8, frame.y + frame.height * 0.7, { steps: 4 });
    await page.mouse.up();
    const numbers = await page.locator("[data-testid=try-out] input[type=number]").count();
    expect(numbers).toBe(4);
    await ask();
    await expect.poll(() => page.getByTestId("try-answer").locator("dd").count()).toBe(1);
    expect(await problems(page)).toEqual([]);
  });

  it("cancels a question with its picture", async () => {
    const { page } = lab;
    await page.getByRole("radio", { name: "Segment phrases" }).click();
    await page.getByTestId("try-phrases").fill("the thing on the left");
    // In one call: an answer may take less time than two presses from outside.
    await page.evaluate(`(() => {
      document.querySelector("[data-testid=try-ask]").click();
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Back to the row").click();
    })()`);
    await page.getByTestId("try-ask").waitFor();
    await expect.poll(() => page.getByTestId("try-answer").count()).toBe(0);
    expect(await ask()).toMatch(/IoU with the row's mask/);
    expect(await problems(page)).toEqual([]);
  });

  it("says what does not fit the card and what would, and does not start", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", gpuMemory: "0" });
    // A software adapter has no memory of its own to measure.
    const find = page.getByTestId("find-memory");
    await expect.poll(() => find.getAttribute("title")).toMatch(/software adapter/);
    await expect.poll(() => find.getAttribute("aria-disabled")).toBe("true");
    await show(page, { screen: "setup", gpuMemory: "0.02", gradientCheckpointing: "false" });
    await expect
      .poll(() => page.getByTestId("start-reason").textContent())
      .toMatch(/A step needs .* MB, but a run can use .* MB; /);
    await expect.poll(() => page.getByTestId("start").getAttribute("aria-disabled")).toBe("true");
    await show(page, { screen: "setup", gpuMemory: "8" });
    await expect.poll(() => page.getByTestId("start-reason").textContent()).toBe("Ready to start");
  });

  it("answers any question, with every mask of the answer on the picture, in order", async () => {
    const { page } = lab;
    const golden = join(root, "tests/golden/sa2va-tiny-variant");
    await show(page, { screen: "setup" });
    await page.getByTestId("pick-model").setInputFiles(golden);
    await expect.poll(() => page.getByTestId("model-facts").textContent()).toMatch(/variant/);
    await show(page, { screen: "data" });
    await page.getByTestId("gallery").getByRole("button").nth(2).click();
    await page.getByRole("tab", { name: "Try the model" }).click();
    await page.getByTestId("try-picture").setInputFiles(join(golden, "image.png"));
    await page.getByRole("radio", { name: "Ask anything" }).click();
    await page.getByTestId("try-question").fill("Segment it.");
    await ask();
    // The golden answer has two [SEG]; their marks are numbered in the text and in the list.
    await expect.poll(() => page.getByTestId("try-text").textContent()).toMatch(/^[^\d]*1[^\d]*2[^\d]*$/);
    const list = page.getByTestId("try-masks").locator("li");
    await expect.poll(() => list.count()).toBe(3);
    const picture = page.getByTestId("try-out").getByRole("img");
    await expect.poll(() => picture.getAttribute("aria-label")).toMatch(/2 masks shown/);
    // Screenshots for a person to look at.
    const folder = process.env.PICTURES;
    if (folder !== undefined) await page.screenshot({ path: join(root, folder, "try-out-masks.png") });
    await list.nth(2).getByRole("radio").check();
    await expect.poll(() => picture.getAttribute("aria-label")).toMatch(/1 mask shown/);
    await expect.poll(() => page.getByTestId("try-masks").textContent()).toMatch(/of the picture/);
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });

  /** Opens the first row and its tab for following. */
  const openClip = async (): Promise<void> => {
    const { page } = lab;
    await page.getByTestId("gallery").getByRole("button").first().click();
    await page.getByRole("tab", { name: "Follow" }).click();
  };
  const state = () => lab.page.getByTestId("followed").getAttribute("data-state");
  const done = async (): Promise<number> =>
    Number.parseInt((await lab.page.getByTestId("follow-progress").textContent()) ?? "", 10);
  const objects = () => lab.page.getByTestId("follow-objects").locator("li");

  it("follows several expressions through a clip, each frame alone where the checkpoint has no memory", async () => {
    const { page } = lab;
    // Clips in the gallery do not play.
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.getByRole("button", { name: "Use demo clips" }).first().click();
    await page
      .getByRole("img", { name: /of the clip$/ })
      .first()
      .waitFor();
    await openClip();
    await expect
      .poll(() => page.getByTestId("follow-lacks").textContent())
      .toMatch(/can only decode frames alone: it lacks SAM2's memory/);
    await expect
      .poll(() => page.getByTestId("follow-decoder").locator("option").allTextContents())
      .toEqual(["Decoder: alone"]);
    const caption = await page.getByTestId("follow-words").inputValue();
    expect(caption).toMatch(/^the /);
    await page.getByTestId("follow-words").fill(`${caption}\nthe other one`);
    await page.getByTestId("follow-answers").selectOption("forced");
    await page.getByTestId("follow-start").click();
    await expect.poll(state).toBe("finished");
    await expect.poll(done).toBe(6);
    await expect
      .poll(() => objects().allTextContents())
      .toEqual([expect.stringMatching(/^1the .*mean IoU/), expect.stringMatching(/^2the other one.*mean IoU/)]);
    await page.getByRole("radio", { name: "Given mask" }).click();
    await expect
      .poll(() => page.getByTestId("follow-start").getAttribute("title"))
      .toMatch(/memory, which the model lacks$/);
    expect(await problems(page)).toEqual([]);
  });

  it("follows with SAM2's memory, stops at a frame, continues there, and hands the masklet out", async () => {
    const { page } = lab;
    const golden = join(root, "tests/golden/sa2va-tiny-qwen2");
    await page.getByTestId("pick-model").setInputFiles(golden);
    await page.getByTestId("pick-shards").setInputFiles(clipFolder());
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^1 row/);
    await show(page, { screen: "setup" });
    await expect.poll(() => page.getByTestId("model-facts").textContent()).toMatch(/qwen2/);
    await show(page, { screen: "data" });
    await openClip();
    await expect.poll(() => page.getByTestId("follow-lacks").count()).toBe(0);
    const detail = page.getByTestId("row-detail");
    const slider = detail.getByRole("slider", { name: "Frame" });
    /** Beside the mask the picture is shown a fifth darker; frames of a strip this long would be mixed. */
    const corner = async () => {
      const figure = detail.getByRole("img").first();
      // Figures outside the window are not drawn.
      await figure.scrollIntoViewIfNeeded();
      return figure.evaluate((element) => {
        const canvas = element as HTMLCanvasElement;
        const pixel = canvas.getContext("2d")?.getImageData(canvas.width / 2, canvas.height - 9, 1, 1).data[0];
        return 2 * Math.round((pixel ?? 0) / 2);
      });
    };
    for (const [key, frame] of [
      ["Home", 0],
      ["ArrowRight", 1],
      ["End", CLIP_FRAMES - 1],
    ] as const) {
      await slider.focus();
      await page.keyboard.press(key);
      await expect.poll(async () => Math.abs((await corner()) - 0.8 * clipShade(frame))).toBeLessThanOrEqual(1);
    }
    const reasons = new Set<string | null>();
    for (const decoder of ["alone", "consistent", "published"]) {
      await page.getByTestId("follow-decoder").selectOption(decoder);
      reasons.add(await page.getByTestId("follow-reason").textContent());
    }
    expect(reasons.size).toBe(3);
    await page.getByTestId("follow-answers").selectOption("forced");
    // Pressed inside the page: the clip may take less time than a press from outside.
    await page.evaluate(`new MutationObserver((_, observer) => {
      const text = document.querySelector("[data-testid=follow-progress]")?.textContent ?? "";
      if (!(Number.parseInt(text) > 3)) return;
      observer.disconnect();
      document.querySelector("[data-testid=follow-stop]")?.click();
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    await page.getByTestId("follow-start").click();
    await expect.poll(state).toBe("stopped");
    const at = await done();
    expect(at).toBeLessThan(CLIP_FRAMES);
    await expect.poll(() => detail.getByTestId("frame-number").textContent()).toBe(`Frame ${at} of ${CLIP_FRAMES}`);
    await slider.focus();
    await page.keyboard.press("End");
    await expect.poll(() => detail.getByTestId("frame-iou").textContent()).toBe("not followed yet");
    const more = page.getByTestId("follow-continue");
    await expect.poll(() => more.textContent()).toBe(`Continue after ${at} frames`);
    await more.click();
    await expect.poll(state).toBe("finished");
    await expect.poll(done).toBe(CLIP_FRAMES);
    await expect.poll(() => page.getByTestId("follow-memory").textContent()).toMatch(/ kB in the memory bank, /);
    await expect
      .poll(() => detail.getByTestId("frame-curve").getAttribute("aria-label"))
      .toMatch(/^IoU of the bright box: mean .* over 20 frames/);
    const [file] = await Promise.all([page.waitForEvent("download"), detail.getByTestId("export-json").click()]);
    const { names, objects: masks } = JSON.parse(readFileSync(await file.path(), "utf8")) as {
      readonly names: readonly string[];
      readonly objects: readonly unknown[][];
    };
    expect([names, masks.map(({ length }) => length)]).toEqual([
      ["given", "the bright box"],
      [CLIP_FRAMES, CLIP_FRAMES],
    ]);
  });

  it("follows the given mask of a frame", async () => {
    const { page } = lab;
    await page.getByRole("radio", { name: "Given mask" }).click();
    await expect
      .poll(() => page.getByTestId("follow-reason").textContent())
      .toMatch(new RegExp(`given mask of frame ${CLIP_FRAMES},`));
    await page.getByTestId("follow-start").click();
    await expect.poll(async () => (await objects().allTextContents())[0]).toMatch(`mask of frame ${CLIP_FRAMES}`);
    await page.evaluate(`document.querySelector("[data-testid=follow-stop]")?.click()`);
    await expect.poll(state).not.toBe("running");
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
