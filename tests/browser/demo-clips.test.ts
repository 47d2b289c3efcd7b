/** Rows with several frames: the demo's clips in the gallery, frame by frame, their exports, and videos as rows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { decodePng } from "../../src/engine/data/image/png-decode.ts";
import { decodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import { type OpenPage, problems, show } from "../support/page.ts";
import { greyFrames, junkFrames, videoFile } from "../support/videos.ts";
import { expectNoProblems, openViewer } from "../support/viewer.ts";
import { boxMask } from "../unit/data/make.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openViewer();
});
afterAll(() => lab.close());

describe("demo clips", () => {
  const number = () => lab.page.getByTestId("row-detail").getByTestId("frame-number").textContent();
  const saved = async (kind: string): Promise<Uint8Array> => {
    const [file] = await Promise.all([
      lab.page.waitForEvent("download"),
      lab.page.getByTestId("row-detail").getByTestId(`export-${kind}`).click(),
    ]);
    return new Uint8Array(readFileSync(await file.path()));
  };

  it("play in the gallery under the pointer, and stay still for users who prefer less motion", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    const gallery = page.getByTestId("gallery");
    // The first rows come into the gallery, those of another data set take their place, and nothing else moves.
    const tops = await gallery.evaluateHandle((element) => {
      const seen = new Set([element.getBoundingClientRect().top]);
      const look = (): void => {
        const now = document.querySelector("[data-testid=gallery]");
        if (now !== null) seen.add(now.getBoundingClientRect().top);
        requestAnimationFrame(look);
      };
      look();
      return seen;
    });
    await page.getByRole("button", { name: "Use demo clips" }).first().click();
    const tile = gallery.getByRole("img", { name: /of the clip$/ }).first();
    await tile.waitFor();
    await page.getByTestId("data-counts").getByText("48 clips").waitFor();
    expect(await tops.evaluate((seen) => seen.size)).toBe(1);
    expect(await gallery.getByText("frame 1/6").count()).toBeGreaterThan(0);
    const pixels = () => tile.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    await expect.poll(async () => (await pixels()).length).toBeGreaterThan(4000);
    const poster = await pixels();
    await tile.hover();
    await expect.poll(pixels).not.toBe(poster);
    await page.mouse.move(1, 1);
    await expect.poll(pixels).toBe(poster);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await tile.hover();
    await tile.click();
    await expect.poll(number).toBe("Frame 1 of 6");
    await page.getByRole("button", { name: "Play the clip" }).click();
    // Plays once, then waits.
    await expect.poll(number).toBe("Frame 6 of 6");
    await page.getByRole("button", { name: "Play the clip" }).waitFor();
    expect(await pixels()).not.toBe(poster);
    await page.emulateMedia({ reducedMotion: null });
  });

  it("can be stepped through by frame, with the outlines of the frames around it", async () => {
    const { page } = lab;
    const figure = page.getByTestId("row-detail").getByRole("img").first();
    const pixels = () => figure.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    await page.getByTestId("row-detail").getByRole("slider", { name: "Frame" }).focus();
    /** What the figure shows after a key press. */
    const shownBy = async (key: string): Promise<string> => {
      const before = await pixels();
      await page.keyboard.press(key);
      await expect.poll(pixels).not.toBe(before);
      return pixels();
    };
    await shownBy("Home");
    const plain = await shownBy("ArrowRight");
    await expect.poll(number).toBe("Frame 2 of 6");
    await page.getByRole("button", { name: "Onion skin" }).click();
    await expect.poll(pixels).not.toBe(plain);
    await page.getByRole("button", { name: "Onion skin" }).click();
    await expect.poll(pixels).toBe(plain);
  });

  it("export as run lengths and as pictures", async () => {
    const { objects, size } = JSON.parse(new TextDecoder().decode(await saved("json"))) as {
      readonly objects: readonly Rle[][];
      readonly size: readonly number[];
    };
    expect([size, objects.map((masks) => masks.length)]).toEqual([[96, 96], [6]]);
    const files = unzipSync(await saved("png"));
    expect(Object.keys(files)).toEqual(Array.from({ length: 6 }, (_, at) => `given/0000${at}.png`));
    const { data } = decodePng(files["given/00003.png"] as Uint8Array, "mask's");
    expect(Array.from(data, (pixel) => pixel / 255)).toEqual([...decodeRle(objects[0]?.[3] as Rle)]);
  });

  it("export no video when cancelled", async () => {
    const { page } = lab;
    const before = await problems(page);
    let downloads = 0;
    page.on("download", () => downloads++);
    await page.evaluate(() => {
      const press = (_: unknown, observer: MutationObserver): void => {
        const buttons = document.querySelectorAll<HTMLElement>("fieldset[aria-label='Export of masklets'] button");
        const cancel = [...buttons].find(({ textContent }) => textContent === "Cancel");
        if (cancel === undefined) return;
        observer.disconnect();
        cancel.click();
        document.body.dataset.cancelled = cancel.parentElement?.textContent ?? "";
      };
      new MutationObserver(press).observe(document.body, { subtree: true, childList: true });
    });
    await page.getByTestId("export-webm").click();
    await page.locator("body[data-cancelled='0 of 6 framesCancel']").waitFor();
    await page.getByTestId("export-webm").waitFor();
    expect([downloads, await problems(page)]).toEqual([0, before]);
  });

  it("export as a video, which opens as a row beside MP4, WebM and Ref-SAV; a broken video is left out with a sentence", async () => {
    const { page } = lab;
    const film = await saved("webm");
    const shades = [20, 60, 100, 140, 180, 220];
    const grey = await greyFrames(page, 64, 48, shades);
    const whole = await videoFile("mp4", grey);
    const two = await videoFile("webm", grey, await greyFrames(page, 32, 24, [90, 90]));
    const videos: Readonly<Record<string, readonly [bytes: Uint8Array, masks: number]>> = {
      "grey.webm": [await videoFile("webm", grey), 6],
      "grey.mp4": [whole, 6],
      "film.webm": [film, 6],
      "cut.mp4": [whole.subarray(0, whole.length - 30), 6],
      "sizes.webm": [two, 8],
      "none.webm": [await videoFile("webm"), 1],
      "long.webm": [await videoFile("webm", junkFrames(10_000, 640, 360)), 6],
      "few.webm": [film, 9],
    };
    const masks = (count: number, side = 48) =>
      Array.from({ length: count }, () => boxMask(side, side === 48 ? 64 : side, 8, 8, 20, 20));
    const rows = Object.entries(videos).map(([video, [bytes, count]]) => {
      return { video, masks: masks(count, bytes === film ? 480 : 48), caption: video };
    });
    const folder = mkdtempSync(join(tmpdir(), "lab-videos-"));
    for (const [name, [bytes]] of Object.entries(videos)) writeFileSync(join(folder, name), bytes);
    writeFileSync(join(folder, "rows.json"), JSON.stringify(rows));
    // A masklet for every fourth frame: 0 and 4.
    const objects = { "1": { formated: "grey.sav" } };
    const sav = { a: { video_path: "videos/grey.mp4", anno_path: "sav_manual.json", objects } };
    writeFileSync(join(folder, "Ref-SAV.json"), JSON.stringify(sav));
    const masklet = masks(2).map((mask) => [null, mask]);
    writeFileSync(join(folder, "sav_manual.json"), JSON.stringify({ masklet }));

    await page.getByTestId("pick-shards").setInputFiles(folder);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^4 rows.*skipped/);
    rmSync(folder, { recursive: true });
    const detail = page.getByTestId("row-detail");
    /** The middle of the right border, beside the mask, where the picture is shown a fifth darker. */
    const shade = () =>
      detail
        .getByRole("img")
        .first()
        .evaluate((element) => {
          const canvas = element as HTMLCanvasElement;
          const pixel = canvas.getContext("2d")?.getImageData(canvas.width - 20, canvas.height / 2, 1, 1).data[0] ?? 0;
          return Math.round((pixel - 16) / 32) * 40 + 20;
        });
    for (const [name, expected] of Object.entries({
      "grey.webm": shades,
      "grey.mp4": shades,
      "grey.sav": [20, 180],
    })) {
      await page.getByTestId("gallery").getByRole("button", { name }).click();
      await expect.poll(number).toBe(`Frame 1 of ${expected.length}`);
      await detail.getByRole("slider", { name: "Frame" }).focus();
      for (const grey of expected) {
        await expect.poll(shade).toBe(grey);
        await page.keyboard.press("ArrowRight");
      }
    }
    await page.getByTestId("gallery").getByRole("button", { name: "film.webm" }).click();
    await expect.poll(number).toBe("Frame 1 of 6");

    await page.getByTestId("skipped").click();
    const reasons = page.getByRole("dialog").locator("tbody td:last-child");
    await expect
      .poll(() => reasons.allTextContents())
      .toEqual(
        expect.arrayContaining([
          "the video is cut off: 5 of its 6 frames can be decoded",
          "frame 6 of the video is 32 x 24 pixels, the others 64 x 48",
          "the video has no track of pictures, or is cut off before its first frame",
          expect.stringMatching(/^the video has 10000 frames of 640 x 360, of which 10000 would be read/),
          "the clip has 6 frames and 9 masks",
        ]),
      );
    await page.keyboard.press("Escape");
  });
});

it("none of it is a problem", () => expectNoProblems(lab));
