/** What a visitor without a GPU sees on one page: the first screen, and the recorded run in every viewer. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { presetConfig } from "../../src/engine/config/presets.ts";
import type { RowScores } from "../../src/engine/runs/evaluations/evaluations.ts";
import { violations } from "../support/axe.ts";
import { layoutShift, type OpenPage, show } from "../support/page.ts";
import { arePluggedIn, testWith } from "../support/plugins.ts";
import { expectNoProblems, openViewer, RECORDED } from "../support/viewer.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openViewer();
});
afterAll(() => lab.close());

/** Serves the recorded run's metrics with a change that keeps their length, which the page knows. */
async function withMetrics(context: OpenPage["context"], change: (text: string) => string): Promise<void> {
  const text = readFileSync(join(RECORDED, "metrics.jsonl"), "utf8");
  const body = change(text);
  expect(body).not.toBe(text);
  expect(body).toHaveLength(text.length);
  await context.route(/recorded\/.*\/metrics\.jsonl/, (route) => route.fulfill({ body }));
}

describe("the first screen", () => {
  it("says on a phone what it is, what to press and what changed, without scrolling", async () => {
    const { page } = lab;
    await page.setViewportSize({ width: 390, height: 844 });
    const foot = (await page.getByRole("navigation").boundingBox())?.y ?? Number.NaN;
    const row = page.getByTestId("before-after").locator("li").first();
    await row.getByText(/^after, IoU/).waitFor();
    const last = await row.boundingBox();
    expect((last?.y ?? Number.NaN) + (last?.height ?? Number.NaN)).toBeLessThanOrEqual(foot);
    for (const part of [page.getByRole("heading", { level: 1 }), page.getByTestId("train-it-yourself")])
      expect((await part.boundingBox())?.y).toBeLessThan(300);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it("shows both loops of the recorded run on real rows, moving, above one button", async () => {
    const { page } = lab;
    await page.locator("main[data-screen=home]").waitFor();
    await expect
      .poll(() => page.getByRole("heading", { level: 1 }).textContent())
      .toMatch(/name regions and to find them/);
    for (const loop of [1, 2]) await page.getByTestId(`home-loop-${loop}`).getByRole("img").first().waitFor();
    // Greedy answers first: sampled ones also gain where answers only become less random.
    await expect
      .poll(() => page.getByTestId("home-curve").getByTestId("gain-numbers").textContent())
      .toMatch(/^greedy [+−±]\d\.\d{3} .+sampled [+−±]\d\.\d{3} .0\.\d{3} to .0\.\d{3}$/);
    await expect.poll(() => page.getByTestId("train-it-yourself").getAttribute("title")).toMatch(/WebGPU/);
    const first = await page.getByTestId("home-step").textContent();
    await expect.poll(() => page.getByTestId("home-step").textContent()).not.toBe(first);
    // No text has moved meanwhile.
    expect(await layoutShift(page)).toBeLessThan(0.05);
  });

  it("shows six held-out rows with what the recorded run said of them at its start and at its end", async () => {
    const { page } = lab;
    const stored = readFileSync(join(RECORDED, "eval.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly report: { readonly step: number }; readonly rows: RowScores[] });
    const [start, end] = [stored[0], stored.at(-1)];
    const captionOf = (rows: readonly RowScores[] = [], id: string): string | undefined =>
      rows.find(({ rowId }) => rowId === id)?.captionGreedy;
    const report = end?.rows.filter(({ part }) => part !== "selection") ?? [];
    // The middle of each sixth of those that a run with the demo's settings evaluates.
    const { evalRows, selectionShare } = presetConfig("demo");
    const among = evalRows * (1 - selectionShare);
    const chosen = [1, 3, 5, 7, 9, 11].map((at) => report[Math.floor((at * among) / 12)]?.rowId ?? "");
    expect(new Set(chosen).size).toBe(6);
    const shown = page.getByTestId("before-after");
    await expect
      .poll(() => shown.locator("figcaption").textContent())
      .toMatch(
        new RegExp(
          `^6 of the first \\d+ held-out rows, .* at step ${start?.report.step} and step ${end?.report.step}\\. The given region is blue, the partner's mask green$`,
        ),
      );
    for (const [side, from] of [
      ["before", start],
      ["after", end],
    ] as const) {
      const answers = shown.locator(`li [data-side=${side}]`);
      await expect.poll(() => answers.count()).toBe(6);
      for (const [at, id] of chosen.entries()) {
        const caption = captionOf(from?.rows, id) || "no caption";
        await answers.nth(at).getByText(caption, { exact: true }).waitFor();
        const name = await answers.nth(at).getByRole("img").getAttribute("aria-label");
        expect(name?.startsWith(`Mask ${side} training, ${caption}, IoU `)).toBe(true);
      }
    }
    // Every picture and every number leads to its row: by pointer, and by keyboard.
    for (const [at, side] of ["before", "after"].entries()) {
      const answer = shown.locator(`li [data-side=${side}]`).nth(2);
      if (at === 0) await answer.getByRole("img").click();
      else await answer.getByRole("link").press("Enter");
      await page.getByTestId("eval-row-details").waitFor();
      const place = new URLSearchParams(String(await page.evaluate("location.hash.slice(1)")));
      expect([place.get("row"), place.get("step")]).toEqual([chosen[2], `${end?.report.step}`]);
      await page.goBack();
      await page.locator("main[data-screen=home]").waitFor();
    }
  });

  it("draws its curve over axes, and says which held-out rows its number counts", async () => {
    const { page } = lab;
    const curve = page.getByTestId("home-curve");
    await expect
      .poll(() => curve.textContent())
      .toMatch(
        /^0\.\d\d0\.\d\dstep 1 25Reward, smoothed, over 25 steps; gain in loop 1 IoU on \d+ held-out rows, 16 more rows choose the best checkpoint/,
      );
    // The curve leads to the steps behind it, the gain and the count of rows to the answers.
    for (const [link, place] of [
      [/Reward of loop 1 from/, "chart-reward"],
      [/held-out rows$/, "eval-where"],
      [/^greedy/, "eval-where"],
    ] as const) {
      await curve.getByRole("link", { name: link }).click();
      await page.getByTestId(place).waitFor();
      await page.goBack();
      await page.locator("main[data-screen=home]").waitFor();
    }
  });

  it("stops moving when told to, and a bar leads to its rollout", async () => {
    const { page } = lab;
    const play = page.getByTestId("home-play");
    await play.click();
    await expect.poll(() => play.textContent()).toBe("Play");
    // A bar of loop 2 is named by its own caption, not by the one that was given.
    const second = page.getByTestId("home-loop-2");
    const given = await second.locator("blockquote").first().textContent();
    const names = await second
      .getByRole("button", { name: /^Open rollout/ })
      .evaluateAll((all) => all.map((bar) => (bar as HTMLElement).title.replace(/^[^:]+: /, "")));
    expect(names.some((name) => name !== given)).toBe(true);
    // So does a picture.
    await second.getByRole("img").first().click();
    await page.getByTestId("inspector").waitFor();
    await page.goBack();
    await page.locator("main[data-screen=home]").waitFor();
    await play.click();
    await page.getByTestId("home-loop-1").getByRole("button").last().click();
    await page.getByTestId("panel-rollouts").waitFor();
    expect(page.url()).toMatch(/rollout=\d+-1-\d+-\d+/);
    await page.getByTestId("inspector").waitFor();
    await page.getByTestId("nav-home").click();
    await page.locator("main[data-screen=home]").waitFor();
  });

  it("draws the reward of the loop that the run trains", async () => {
    const { page, context } = lab;
    await withMetrics(context, (text) => text.replaceAll('"loop1/', '"loop9/'));
    await page.reload();
    await page.getByRole("img", { name: /^Reward of loop 2 from 0\.\d\d to/ }).waitFor();
    await context.unrouteAll();
    await page.reload();
  });
});

describe("the time line", () => {
  const slider = () => lab.page.getByRole("slider", { name: "Step" });
  const stop = () => slider().getAttribute("aria-valuetext");

  it("moves curves and rollouts of every tab to one step, which is in the address", async () => {
    const { page } = lab;
    await show(page, { screen: "train", step: "20" });
    const strip = page.getByTestId("live-strip");
    await expect.poll(() => strip.textContent()).toMatch(/step 20/);
    await slider().focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => strip.textContent()).toMatch(/step 25/);
    expect(page.url()).toMatch(/step=25/);
    const logged = await page.getByTestId("chart-reward").locator("li b").first().textContent();
    await page.getByTestId("tab-rollouts").click();
    await expect.poll(stop).toBe("step 25");
    await slider().focus();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(stop).toBe("step 20");
    await page.getByTestId("tab-curves").click();
    await expect.poll(() => strip.textContent()).toMatch(/step 20/);
    await expect.poll(() => page.getByTestId("chart-reward").locator("li b").first().textContent()).not.toBe(logged);
    await page.getByRole("button", { name: "Latest" }).click();
    await expect.poll(() => strip.textContent()).toMatch(/step 25/);
    expect(page.url()).not.toMatch(/step=/);
  });

  it("shows the nearest step with rollouts for one without, and says so", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "17" });
    await expect.poll(stop).toBe("step 15");
    await expect.poll(() => page.locator("main").textContent()).toMatch(/step 15, because step 17 has no rollouts/);
  });

  it("has the column of a rollout beside it, from what was given to the update", async () => {
    const { page } = lab;
    await show(page, { screen: "train", step: "20" });
    const place = page.getByTestId("inspected-place");
    await page.getByTestId("live-strip").getByTestId("rollout-card").nth(1).getByRole("button").click();
    const lesson = page.getByTestId("lesson");
    await expect.poll(() => lesson.locator("> li").count()).toBe(8);
    await expect.poll(() => place.textContent()).toMatch(/^step 20 · loop 1/);
    // What was said is read plain; a difference is shown on demand.
    expect(await lesson.locator("del, ins").count()).toBe(0);
    // The time line moves the open rollout too.
    await slider().focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => place.textContent()).toMatch(/^step 25 · loop 1/);
    // What was known at an earlier step: no gain before the second evaluation.
    await page.keyboard.press("ArrowLeft");
    await expect
      .poll(() => page.getByTestId("result").textContent())
      .toMatch(/after the second evaluation.*Step 0 to 25, 95 % intervals/s);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.getByTestId("result").textContent()).toMatch(/Step 0 to 25/);
    // An earlier step of a tab takes the inspector with it, and Escape closes it.
    await page.getByTestId("tab-rollouts").click();
    await expect.poll(() => place.textContent()).toMatch(/^step 25 · loop 1/);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByTestId("inspector").count()).toBe(0);
    expect(page.url()).not.toMatch(/rollout=/);
    await show(page, { screen: "train" });
  });
});

describe("the curves of a run", () => {
  const chart = () => lab.page.getByTestId("chart-reward");

  /** Drags over the right half of the reward chart. */
  async function zoomIn(): Promise<void> {
    const box = await chart().locator(".u-over").boundingBox();
    if (box === null) throw new Error("The chart has no plot");
    await lab.page.mouse.move(box.x + box.width / 2, box.y + 20);
    await lab.page.mouse.down();
    await lab.page.mouse.move(box.x + box.width - 4, box.y + 20, { steps: 4 });
    await lab.page.mouse.up();
  }

  it("keep their zoom in the address, with a mark, also after a reload", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    await chart().locator(".u-over").waitFor();
    await zoomIn();
    await expect.poll(() => page.getByTestId("all-steps").textContent()).toMatch(/^Steps 1\d–(24|25)$/);
    expect(page.url()).toMatch(/zoom=1/);
    await page.reload();
    await expect.poll(() => page.getByTestId("all-steps").textContent()).toMatch(/^Steps 1\d–(24|25)$/);
    // An address pasted into the open page has its own zoom.
    const name = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("zoom")?.split("@")[1];
    await show(page, { screen: "train", zoom: `5-15@${name}` });
    await expect.poll(() => page.getByTestId("all-steps").textContent()).toBe("Steps 5–15");
    await chart()
      .locator(".u-over")
      .hover({ position: { x: 1, y: 20 } });
    await expect.poll(() => chart().locator("li").last().textContent()).toBe("step 5");
  });

  it("show all steps again after a double click, which opens no rollouts; one click does", async () => {
    const { page } = lab;
    const over = chart().locator(".u-over");
    await over.dblclick({ position: { x: 60, y: 40 } });
    await expect.poll(() => page.getByTestId("all-steps").count()).toBe(0);
    expect(page.url()).toMatch(/screen=train/);
    expect(page.url()).not.toMatch(/zoom/);
    // Time after which a click counts as a single one.
    await page.waitForTimeout(600);
    expect(page.url()).toMatch(/screen=train/);
    await over.click({ position: { x: 60, y: 40 } });
    await page.getByTestId("panel-rollouts").waitFor();
  });

  it("stay where they are while the pointer moves over them", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    const over = chart().locator(".u-over");
    const top = async (): Promise<number> => (await over.boundingBox())?.y ?? Number.NaN;
    await over.waitFor();
    const before = await top();
    await over.hover({ position: { x: 90, y: 40 } });
    await expect.poll(() => chart().locator("li").last().textContent()).toMatch(/^step \d+$/);
    await expect.poll(top).toBe(before);
  });
});

describe("the charts of a run", () => {
  const chart = () => lab.page.getByTestId("chart-reward").first();

  it("go over time, in the size that the address says", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    await chart().locator(".u-over").waitFor();
    await page.getByTestId("chart-options").click();
    await page.getByRole("radio", { name: "Time" }).click();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await chart()
      .locator(".u-over")
      .hover({ position: { x: 90, y: 40 } });
    await expect.poll(() => chart().locator("li").last().textContent()).toMatch(/^step \d+ · (\d+ min )?[\d.]+ s$/);
    expect(page.url()).toMatch(/x=time/);
    await page.getByRole("button", { name: "Enlarge Reward", exact: true }).click();
    const large = page.getByRole("dialog").getByTestId("chart-reward").getByRole("img").first();
    await expect.poll(() => large.getAttribute("aria-label")).toMatch(/between steps 1 and 25/);
    expect((await large.boundingBox())?.height).toBeGreaterThan(400);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await large.waitFor({ state: "detached" });
    await show(page, { screen: "train", x: "" });
  });
});

describe("every panel", () => {
  /** Size in CSS pixels of the picture in the clipboard, and whether it shows more than text on a background. */
  const copied = () =>
    lab.page.evaluate(async () => {
      const [item] = await navigator.clipboard.read();
      if (!item?.types.includes("image/png")) return null;
      const bitmap = await createImageBitmap(await item.getType("image/png"));
      const { width, height } = bitmap;
      const context = new OffscreenCanvas(width, height).getContext("2d");
      context?.drawImage(bitmap, 0, 0);
      const pixels = new Uint32Array(context?.getImageData(0, 0, width, height).data.buffer ?? new ArrayBuffer(0));
      return { width: width / 2, height: height / 2, colours: new Set(pixels).size };
    });

  it("is copied as a picture: a chart, a group with its masks, the result, any other", async () => {
    const { page } = lab;
    await lab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    /** The panel is copied until its pictures, which load late, are on the copy. */
    const expectPicture = async (panel: Locator, colours: number, copy: () => Promise<void>): Promise<void> => {
      const box = await panel.boundingBox();
      const [width, height] = [Math.round(box?.width ?? 0) + 24, Math.round(box?.height ?? 0) + 24];
      const copyAgain = async () => {
        await copy();
        const picture = await copied();
        return { ...picture, colourful: (picture?.colours ?? 0) > colours };
      };
      await expect.poll(copyAgain).toMatchObject({ width, height, colourful: true });
    };
    const press = (name: string) => () => page.getByRole("button", { name: `Copy ${name} as a picture` }).click();
    await show(page, { screen: "train" });
    const chart = page.getByTestId("chart-kl");
    await expectPicture(chart, 20, async () => {
      await chart.hover();
      await page.getByRole("button", { name: "More actions for KL and entropy", exact: true }).click();
      await page.getByRole("menuitem", { name: "Copy as a picture" }).click();
    });
    const group = page.getByTestId("live-strip").locator("article").filter({ hasText: "Loop 1" }).first();
    await expectPicture(group, 2000, press("the group of loop 1"));
    await expectPicture(page.getByTestId("result"), 20, press("the result"));
    if (!arePluggedIn("diagnostics")) return;
    await show(page, { screen: "home", panel: "system" });
    await page.getByRole("tab", { name: "Log" }).click();
    await expectPicture(page.getByRole("region", { name: "Log" }), 5, press("Log"));
  });
});

describe("the rollouts of a run", () => {
  it("show the details of a rollout within the window", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "25" });
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    const inspector = page.getByTestId("inspector");
    // At 1440 × 900: picture, caption and reward.
    for (const part of ["figure", "[data-phase=generate]", "[data-phase=reward]"]) {
      const box = await inspector.locator(part).first().boundingBox();
      expect((box?.y ?? Number.NaN) + (box?.height ?? Number.NaN), part).toBeLessThanOrEqual(900);
    }
  });

  it("show what the policy said plainly, and its difference to the reference on request", async () => {
    const { page } = lab;
    await page.keyboard.press("End");
    const said = page.getByTestId("inspector").locator("[data-phase=generate]");
    const marks = said.locator("ins, del");
    await said.getByRole("button", { name: "Difference" }).waitFor();
    expect(await marks.count()).toBe(0);
    await said.getByRole("button", { name: "Difference" }).click();
    await expect.poll(() => marks.count()).toBeGreaterThan(0);
    await said.getByRole("button", { name: "Plain" }).click();
    await expect.poll(() => marks.count()).toBe(0);
    await page.keyboard.press("Home");
  });

  it("show the computation of their advantage", async () => {
    const { page } = lab;
    const text = (await page.getByTestId("lesson").locator("[data-phase=advantage] code").textContent()) ?? "";
    expect(text).toMatch(/\(group\).*÷.*\(group\) \+ 0\.0001 \(ε\)\) = [+−]\d\.\d{3}$/);
    const [reward, mean, std, eps, advantage] = [...text.matchAll(/\d\.\d+/g)].map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    // By hand, from what is written.
    expect(Math.abs(reward - mean) / (std + eps)).toBeCloseTo(advantage, 2);
  });

  testWith("rollout-tools")(
    "show what other settings would give: as logged with the run's own, otherwise with others",
    async () => {
      const { page } = lab;
      await page
        .getByTestId("inspector")
        .getByText(/^More: /)
        .click();
      await page.getByRole("tab", { name: "What if" }).click();
      const loss = page.getByTestId("what-if-loss");
      const lines = readFileSync(join(RECORDED, "metrics.jsonl"), "utf8").trim().split("\n");
      const logged = lines
        .map((line) => JSON.parse(line) as Readonly<Record<string, number>>)
        .find(({ step }) => step === 25);
      await expect.poll(() => loss.textContent()).toContain((logged?.["loop1/loss"] ?? Number.NaN).toFixed(5));
      const rewards = () => page.getByTestId("what-if").locator("tbody td:nth-child(3)").allTextContents();
      const before = await rewards();
      // The run of the demo has weight 0.
      await page.getByLabel("Weight of METEOR").fill("1");
      await expect.poll(rewards).not.toEqual(before);
      await expect.poll(() => loss.textContent()).toMatch(/→/);
      await page.getByRole("button", { name: "Reset", exact: true }).click();
      await expect.poll(rewards).toEqual(before);
    },
  );

  it("that match a search are shown, from the nearest step", async () => {
    const { page } = lab;
    const search = page.getByPlaceholder("Search captions and rows");
    await search.fill("umbrella");
    await page.getByText(/groups? in \d+ steps? match/).waitFor();
    await expect.poll(() => page.getByText("No rollout matches").count()).toBe(0);
    await expect.poll(() => page.getByTestId("rollout-card").count()).toBeGreaterThan(0);
    await expect
      .poll(() => page.getByRole("slider", { name: "Step" }).getAttribute("aria-valuetext"))
      .toMatch(/^step /);
    await search.fill("");
  });

  testWith("rollout-tools")("know that the row is drawn in the group that is shown", async () => {
    const { page } = lab;
    await page.getByRole("tab", { name: "History" }).click();
    await expect.poll(() => page.getByTestId("inspector").textContent()).toMatch(/sampled 1 time in/);
  });

  it("begin at their top, however far the last screen was scrolled", async () => {
    const { page } = lab;
    const scrolled = () => page.locator("main").evaluate((main) => main.scrollTop);
    await show(page, { screen: "train" });
    await page.setViewportSize({ width: 1440, height: 300 });
    await page.getByTestId("chart-reward").waitFor();
    await page.mouse.move(700, 200);
    await page.mouse.wheel(0, 200);
    await expect.poll(scrolled).toBeGreaterThan(100);
    await show(page, { screen: "train", tab: "rollouts" });
    await expect.poll(scrolled).toBe(0);
    await page.setViewportSize({ width: 1440, height: 900 });
  });
});

it("none of it is a problem", () => expectNoProblems(lab));
