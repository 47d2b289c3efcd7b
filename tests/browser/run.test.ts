/** A run in the page from start to resume by keys alone, and every screen's view of it. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  type RunEvent,
  show,
  tabToAndPress,
  untilEvent,
  untilReady,
} from "../support/page.ts";
import { arePluggedIn, testWith } from "../support/plugins.ts";

let lab: OpenPage;
let events: RunEvent[];
let firstStep: Readonly<Record<string, number>>;
let runId: string;
/** Folder with the adapter of the first run's checkpoint. */
let adapter: string;

beforeAll(async () => {
  ({ lab, events } = await openFollowed({ screen: "setup", ...CHEAP_RUN }));
});
afterAll(async () => {
  await lab.close();
  if (adapter !== undefined) await rm(adapter, { recursive: true });
});

interface FirstStep {
  readonly metrics: Readonly<Record<string, number>>;
  /** Milliseconds between frames during the computation. */
  readonly frames: readonly number[];
  /** Milliseconds from a key to its event. */
  readonly keys: readonly number[];
}

/**
 * Presses start and waits for the first step, measuring frames and keys meanwhile. The page itself presses pause when
 * the step is announced: on a busy machine the run could end before a press from outside arrives.
 */
async function startFirstStep(): Promise<FirstStep> {
  const { page } = lab;
  const from = events.length;
  await page.evaluate(() => {
    const pause = (event: Event): void => {
      const { type, step } = (event as CustomEvent<{ type: string; step?: number }>).detail;
      if (type !== "step" || step !== 1) return;
      removeEventListener("lab:trainer", pause);
      document.querySelector<HTMLButtonElement>("[data-testid=pause]")?.click();
    };
    addEventListener("lab:trainer", pause);
  });
  await page.keyboard.press("p");
  await untilEvent(events, from, (event) => event.type === "state" && event.state === "running");
  await page.evaluate(() => {
    const [frames, keys]: [number[], number[]] = [[], []];
    const measured = { frames, keys, over: false };
    let last = performance.now();
    const frame = (): void => {
      // Frames that are no longer measured would be requested for the rest of the file.
      if (measured.over) return;
      const now = performance.now();
      frames.push(now - last);
      last = now;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    addEventListener("keydown", (event) => keys.push(performance.now() - event.timeStamp));
    Object.assign(globalThis, { measured });
  });
  const step = untilEvent(events, from, (event) => event.type === "step" && event.step === 1);
  let done = false;
  step.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  while (!done) {
    await page.keyboard.press("Shift");
    await page.waitForTimeout(200);
  }
  const { metrics } = await step;
  await untilEvent(events, from, (event) => event.type === "state" && event.state === "paused");
  const measured = await page.evaluate(() => {
    const { measured: all } = globalThis as unknown as {
      measured: { frames: number[]; keys: number[]; over: boolean };
    };
    all.over = true;
    return { frames: all.frames, keys: all.keys };
  });
  return { metrics: metrics ?? {}, ...measured };
}

/** The value below which the given share of the numbers lies. */
function quantile(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(share * (values.length - 1))] as number;
}

async function stop(): Promise<void> {
  const from = events.length;
  await tabToAndPress(lab.page.getByTestId("stop"));
  await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
}

/** Opens a screen by its keys. */
async function go(letter: string, screen: string): Promise<void> {
  await lab.page.keyboard.press("g");
  await lab.page.keyboard.press(letter);
  await lab.page.locator(`main[data-screen=${screen}]`).waitFor();
}

describe("rows", () => {
  it("are loaded by keys", async () => {
    await go("d", "data");
    await tabToAndPress(lab.page.getByRole("button", { name: "Use demo shard" }));
    await untilReady(lab.page);
  });

  it("stay while a preset opens the model whose masks are damaged, and bring their own model back", async () => {
    const { page } = lab;
    const loaded = () => page.locator("header").first().textContent();
    // The damage is the model's, so Data offers no such rows.
    const offered = page.getByRole("button", { name: /^Use / });
    await expect.poll(() => offered.allTextContents()).not.toContain("Use damaged masks");
    await show(page, { screen: "setup" });
    await page.getByText("Repair masks", { exact: true }).click();
    await expect.poll(loaded).toContain("pocket damaged-model");
    await untilReady(page);
    await show(page, { screen: "data" });
    await page.getByRole("button", { name: "Use demo shard" }).first().click();
    await expect.poll(loaded).toContain("pocket vague-model");
    // Presets have their own numbers.
    await show(page, { screen: "data", ...CHEAP_RUN });
    await untilReady(page);
  });
});

describe("the first step", () => {
  it("comes after a press on start, and the page answers meanwhile", async () => {
    const { metrics, frames, keys } = await startFirstStep();
    firstStep = metrics;
    expect(metrics["loop1/reward"]).toBeTypeOf("number");
    expect(metrics["loop2/reward"]).toBeTypeOf("number");
    for (const [name, values] of Object.entries({ frames, keys })) {
      const [middle, most, longest] = [0.5, 0.95, 1].map((share) => quantile(values, share).toFixed(1));
      console.log(
        `${name} during the step: ${values.length}, median ${middle} ms, 95 % ${most} ms, longest ${longest} ms`,
      );
    }
    // Tensors belong to the worker, so frames and keys continue while it computes. A page that computed them itself
    // would freeze for most of the step, however busy the machine.
    const total = frames.reduce((sum, frame) => sum + frame, 0);
    expect(frames.length).toBeGreaterThan(20);
    expect(Math.max(...frames)).toBeLessThan(total / 2);
    expect(keys.length).toBeGreaterThan(3);
    expect(quantile(keys, 0.5)).toBeLessThan(total / 10);
  });

  it("is in the curves and in the strip", async () => {
    const { page } = lab;
    await page.locator("main[data-screen=train]").waitFor();
    const chart = page.getByTestId("chart-reward");
    await expect.poll(() => chart.getByRole("img").first().getAttribute("aria-label")).not.toMatch(/no values/);
    await expect.poll(() => page.getByTestId("step").textContent()).toMatch(/^[12]\s*\/\s*2$/);
    // Two captions and two masks.
    await expect.poll(() => page.getByTestId("live-strip").getByTestId("rollout-card").count()).toBe(4);
  });

  it("opens rollout by rollout, with its masks", async () => {
    const { page } = lab;
    await tabToAndPress(page.getByTestId("live-strip").getByTestId("rollout-card").first().getByRole("button"));
    const inspector = page.getByTestId("inspector");
    await inspector.waitFor();
    const difference = inspector.getByRole("button", { name: /^\d Difference$/ });
    const shown = await difference.getAttribute("aria-pressed");
    await page.keyboard.press("d");
    await expect.poll(() => difference.getAttribute("aria-pressed")).toBe(shown === "true" ? "false" : "true");
  });

  testWith("phases", "rollout-tools")("shows the terms of a reward, and its tokens as a table", async () => {
    const inspector = lab.page.getByTestId("inspector");
    await inspector.getByText("How the reward came about").click();
    const terms = inspector.getByRole("table").first();
    await expect.poll(() => terms.textContent()).toMatch(/IoU/);
    await inspector.getByText("How the reward came about").click();
    await inspector.getByText("Tokens, prompt and completion").click();
    await inspector.getByRole("button", { name: /table/i }).click();
    const rows = inspector.getByRole("table").first().locator("tbody tr");
    await expect.poll(() => rows.count()).toBeGreaterThan(0);
    await expect.poll(() => rows.count()).toBeLessThanOrEqual(4);
  });

  it("is kept when the run is stopped in the second", async () => {
    await show(lab.page, { screen: "runs" });
    const row = lab.page.getByTestId("runs-table").locator("tbody tr");
    await expect.poll(() => row.locator("[data-label=State]").textContent()).toBe("paused");
    await stop();
    await expect.poll(() => row.locator("[data-label=State]").textContent()).toBe("stopped");
    await lab.page.locator("[aria-live=polite]", { hasText: ": stopped, step 1 of 2" }).waitFor();
    expect(events.some((event) => event.type === "checkpoint" && event.step === 1)).toBe(true);
    expect(events.some((event) => event.type === "step" && event.step === 2)).toBe(false);
  });
});

describe("after a reload", () => {
  beforeAll(async () => {
    await show(lab.page, { screen: "runs" });
    await lab.page.reload();
    await untilReady(lab.page);
  });

  it("the run is listed", async () => {
    const row = lab.page.getByTestId("runs-table").locator("tbody tr");
    await expect.poll(() => row.count()).toBe(1);
    runId = (await row.getAttribute("data-run")) ?? "";
    expect(runId).toMatch(/^[a-z0-9-]+-\d{17}$/);
    await expect.poll(() => row.textContent()).toMatch(/1 \/ 2/);
    // Without a run in the address it is shown, and the step that was stopped can be continued.
    await show(lab.page, { screen: "train" });
    await lab.page.getByTestId("screen-train").getByText("stored run").waitFor();
    await lab.page.getByTestId("nav-home").click();
    await expect.poll(() => lab.page.getByTestId("home-run").textContent()).toMatch(/: step 1 of 2$/);
    await lab.page.locator("main").getByRole("button", { name: "Resume" }).waitFor();
    // Beside the recorded one a link leads back to it.
    await lab.page.getByRole("link", { name: "Demo", exact: true }).click();
    await lab.page.getByRole("link", { name: "All curves and rollouts" }).click();
    await lab.page.getByRole("link", { name: /^Your newest run: / }).click();
    await expect.poll(() => new URLSearchParams(new URL(lab.page.url()).hash.slice(1)).get("run")).toBe(runId);
  });

  it("its rollouts are read back", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", run: runId, step: "1" });
    await expect.poll(() => page.getByTestId("rollout-card").count()).toBe(2);
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    await expect.poll(() => page.getByTestId("inspector").textContent()).toMatch(/reward/);
    await show(page, { screen: "train", run: runId });
    const chart = page.getByTestId("chart-reward").getByRole("img").first();
    await expect.poll(() => chart.getAttribute("aria-label")).not.toMatch(/no values/);
    // It ended before its last step.
    const resume = page.locator("main").getByRole("button", { name: "Resume" });
    await resume.waitFor();
    expect(await resume.getAttribute("aria-disabled")).toBeNull();
  });

  it("it can be exported as a zip with all its parts", async () => {
    const { page } = lab;
    await go("n", "runs");
    await tabToAndPress(page.getByTestId("export-run"));
    await page.getByRole("menuitem", { name: "Whole run (zip)" }).and(page.locator(":focus")).waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
    expect(download.suggestedFilename()).toMatch(/\.zip$/);
    const files = unzipSync(new Uint8Array(readFileSync(await download.path())));
    const names = Object.keys(files).map((name) => name.replace(`${runId}/`, ""));
    expect(names).toEqual(
      expect.arrayContaining([
        "run.json",
        "metrics.jsonl",
        "metrics.csv",
        "rollouts/step-000001.arrow",
        "checkpoints/step-000001/adapter_config.json",
        "checkpoints/step-000001/adapter_model.safetensors",
        "checkpoints/step-000001/modules.safetensors",
        "checkpoints/step-000001/ema.safetensors",
        "checkpoints/step-000001/optimizer.safetensors",
        "checkpoints/step-000001/trainer_state.json",
      ]),
    );
    expect(names.some((name) => name.startsWith("events.out.tfevents."))).toBe(true);
    adapter = await mkdtemp(join(tmpdir(), "lab-adapter-"));
    for (const name of ["adapter_config.json", "adapter_model.safetensors", "modules.safetensors"]) {
      await writeFile(join(adapter, name), files[`${runId}/checkpoints/step-000001/${name}`] as Uint8Array);
    }
    const text = (name: string): string => new TextDecoder().decode(files[`${runId}/${name}`]);
    expect(JSON.parse(text("run.json"))).toMatchObject({
      id: runId,
      config: { numGenerations: 2, maxCompletionLength: 4 },
    });
    const rows = text("metrics.jsonl").trim().split("\n");
    expect(rows).toHaveLength(1);
    expect(JSON.parse(rows[0] as string)).toMatchObject({ step: 1, "loop1/reward": firstStep["loop1/reward"] });
  });

  it("it continues at the next step, to its end", async () => {
    const { page } = lab;
    // A judge without an address prevents a new run from starting; this one has its own settings.
    await show(page, { screen: "setup", judge: "dlc" });
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("title")).toMatch(/The judge is on/);
    await show(page, { screen: "runs" });
    const from = events.length;
    await tabToAndPress(page.getByRole("button", { name: "Resume" }));
    const step = await untilEvent(events, from, (event) => event.type === "step");
    expect(step.step).toBe(2);
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await show(page, { screen: "runs", judge: "off" });
    await expect.poll(() => page.getByTestId("runs-table").textContent()).toMatch(/2 \/ 2/);
  });

  it("and takes another title, which stands everywhere at once", async () => {
    const { page } = lab;
    await page.getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Rename…" }).click();
    await page.getByLabel("Title of the run").fill("Larger groups");
    await page.keyboard.press("Enter");
    // The strip; the heading of the curves beside the list takes the title a moment later.
    await page.getByRole("banner").getByText("Larger groups", { exact: true }).waitFor();
    await page.getByTestId("runs-table").getByText("Larger groups", { exact: true }).waitFor();
    await show(page, { screen: "train" });
    await page.getByRole("heading", { name: "Larger groups" }).waitFor();
  });
});

describe("another start", () => {
  it("with the same seed earns the same rewards", async () => {
    const { metrics } = await startFirstStep();
    const repeated = (row: Readonly<Record<string, number>>): object =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !/^(time\/|step_time|memory\/)/.test(name)));
    expect(repeated(metrics)).toEqual(repeated(firstStep));
  });

  it("is followed by another tab, which leaves it alone", async () => {
    const other = await lab.context.newPage();
    await other.goto(`${lab.url}#screen=runs`);
    const row = other.getByTestId("runs-table").locator("tbody tr").filter({ hasText: "in another tab" });
    await row.waitFor();
    const button = (name: string) => row.getByRole("button", { name, exact: true });
    await expect.poll(() => button("Resume").getAttribute("aria-disabled")).toBe("true");
    await row.getByTestId("more-of-run").click();
    for (const name of ["Fork…", "Delete…"]) {
      const entry = other.getByRole("menuitem", { name });
      await expect.poll(() => entry.getAttribute("aria-disabled")).toBe("true");
      await expect.poll(() => entry.textContent()).toMatch(/training in another tab/);
    }
    await other.keyboard.press("Escape");
    await row.getByTestId("open-run").click();
    await other.getByText("training in another tab, read-only").waitFor();
    const curve = other.getByTestId("chart-reward").getByRole("img").first();
    await expect.poll(() => curve.getAttribute("aria-label")).toMatch(/at step 1/);
    const from = events.length;
    await lab.page.getByTestId("play").click();
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await expect.poll(() => curve.getAttribute("aria-label")).toMatch(/between steps 1 and 2/);
    await other.getByText("stored run").waitFor();
    await other.close();
  });

  it("asks another checkpoint for likelihoods, once its adapter is open", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", likelihoodJudge: "adapter", loop2Likelihood: "1", loops: "2", steps: "1" });
    const start = page.getByTestId("strip-start");
    await expect
      .poll(() => start.getAttribute("title"))
      .toMatch(/^The settings take likelihoods from another checkpoint/);
    await page.getByTestId("pick-captioner").setInputFiles(adapter);
    await expect
      .poll(() => page.getByTestId("captioner").textContent())
      .toMatch(/^Likelihoods come from lab-adapter-\w+: rank 4, scale [\d.]+Close adapter$/);
    await untilReady(page);
    const from = events.length;
    await start.click();
    const { metrics } = await untilEvent(events, from, (event) => event.type === "step");
    expect(metrics?.["loop2/rewards/likelihood/mean"]).toBeGreaterThan(0);
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
  });

  testWith("compare")("is drawn over the first run, also after a reload", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    const boxes = page.getByTestId("runs-table").getByRole("checkbox");
    // The newest is the run with likelihoods.
    await expect.poll(() => boxes.count()).toBe(3);
    await boxes.nth(1).check();
    await boxes.nth(2).check();
    const same = page.getByText("Model, data and settings are identical");
    await same.waitFor();
    await page.reload();
    await same.waitFor();
    // Runs of one seed draw the same row in the same step.
    const sides = page.getByTestId("side-by-side");
    await expect.poll(() => sides.getByTestId("rollout-card").count()).toBe(4);
    await expect.poll(() => sides.getByText("step 2", { exact: true }).count()).toBe(2);
    await sides.getByRole("button", { name: "Earlier" }).first().click();
    await expect.poll(() => sides.getByText("step 1", { exact: true }).count()).toBe(2);
    const drawn = await sides.getByTitle("Row in the data set").allTextContents();
    expect(drawn).toHaveLength(2);
    expect(drawn[0]).toBe(drawn[1]);
    const titles = await boxes.evaluateAll((all) =>
      all.slice(1).map((box) => (box.getAttribute("aria-label") ?? "").replace("Compare ", "")),
    );
    const curve = page.getByTestId("chart-compare-reward-1").getByRole("img").first();
    // Charts are drawn while they are in view.
    await curve.scrollIntoViewIfNeeded();
    for (const title of titles) {
      await expect.poll(() => curve.getAttribute("aria-label")).toContain(title);
    }
    if (arePluggedIn("chart-tools")) {
      await page.getByTestId("more-metrics").click();
      await page.getByRole("checkbox", { name: "loop1/entropy", exact: true }).check();
      await page.keyboard.press("Escape");
      await page.getByTestId("chart-compare-chosen-loop1/entropy").getByText("Entropy of loop 1").waitFor();
    }
    // A step links to the rollouts of every compared run.
    const chart = page.getByTestId("chart-compare-reward-1");
    await chart.locator(".u-over").click({ position: { x: 2, y: 40 } });
    await page
      .getByTestId("run-charts")
      .getByRole("link", { name: titles[0] as string })
      .click();
    await expect.poll(() => page.getByTestId("rollout-card").count()).toBe(2);
    await page.goBack();
    await page.getByTestId("compare").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await expect.poll(() => page.getByTestId("compare").count()).toBe(0);
  });

  it("left the console without errors and the page without problems", async () => {
    expect(lab.consoleErrors).toEqual([]);
    await expect.poll(() => lab.page.locator("[data-testid=problems] p").allTextContents()).toEqual([]);
  });
});
