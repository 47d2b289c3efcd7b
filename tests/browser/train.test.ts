/** The Train screen and the strip during a run: its time, its checkpoints, its phases, its metrics. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { PHASE_NAMES } from "../../src/app/stores/run/run.ts";
import type { Phase } from "../../src/engine/rl/run/events.ts";
import { violations } from "../support/axe.ts";
import {
  CHEAP_RUN,
  layoutShift,
  type OpenPage,
  openFollowed,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";
import { arePluggedIn } from "../support/plugins.ts";

let lab: OpenPage;
let events: RunEvent[];

beforeAll(async () => {
  const settings = { screen: "train", ...CHEAP_RUN, loops: "1", steps: "200" };
  const keepWorker = `{
    const Real = Worker;
    globalThis.Worker = class extends Real {
      constructor(url, options) { super(url, options); if (options.name === "trainer") globalThis.trainerWorker = this; }
    };
  }`;
  ({ lab, events } = await openFollowed(settings, { bypassCSP: true }, async (page) => {
    await page.addInitScript(keepWorker);
  }));
});
afterAll(() => lab.close());

const title = (testId: string): Promise<string> =>
  lab.page
    .getByTestId(testId)
    .getAttribute("title")
    .then((text) => text ?? "");

const untilState = (from: number, state: string, of = events): Promise<RunEvent> =>
  untilEvent(of, from, (event) => event.type === "state" && event.state === state);

/** Steps done, as the strip shows them. */
const steps = async (): Promise<number> => Number((await lab.page.getByTestId("step").textContent())?.split("/")[0]);

/** Words for the phase that one press runs. */
const nextPhase = async (): Promise<string | undefined> =>
  /^Run one phase: (?:loop \d ▸ )?(.+), then pause \(F\)$/.exec(await title("single-phase"))?.[1];

async function playPhase(): Promise<void> {
  const from = events.length;
  await lab.page.getByTestId("single-phase").click();
  await untilState(from, "paused");
}

/** Runs phase by phase until the next one is `wanted`; a step has fewer than 20. */
async function playUntil(wanted: Phase): Promise<void> {
  for (let press = 0; (await nextPhase()) !== PHASE_NAMES[wanted]; press++) {
    expect(press).toBeLessThan(20);
    await playPhase();
  }
}

describe("before a run", () => {
  it("nothing can be saved, and the button says why", async () => {
    const save = lab.page.getByTestId("save-now");
    await expect.poll(() => save.getAttribute("aria-disabled")).toBe("true");
    await expect.poll(() => title("save-now")).toBe("No run is in progress");
    await expect.poll(() => title("single-phase")).toBe("Start a new run, and pause in its first step (F)");
  });

  it("one that is stopped in its first step leaves nothing to wait for", async () => {
    const { page } = lab;
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("aria-disabled")).toBeNull();
    await page.keyboard.press("f");
    await untilState(0, "paused");
    const from = events.length;
    await page.getByTestId("stop").click();
    await untilState(from, "finished");
    for (const tab of ["curves", "rollouts", "held-out"]) {
      await page.getByTestId(`tab-${tab}`).click();
      await page.getByText("It ended in its first step, which is not kept").waitFor();
      expect(await page.getByText(/as they arrive|Waiting for|appear here|not evaluated/).count()).toBe(0);
    }
  });

  it("a key starts one that pauses in its first step, another ends that step", async () => {
    const { page } = lab;
    await expect.poll(() => page.getByTestId("strip-start").getAttribute("aria-disabled")).toBeNull();
    const begun = events.length;
    await page.keyboard.press("f");
    await untilState(begun, "paused");
    await expect.poll(nextPhase).not.toBe(PHASE_NAMES.sample);
    expect(await steps()).toBe(0);
    const from = events.length;
    await page.keyboard.press("s");
    await untilState(from, "paused");
    await expect.poll(steps).toBe(1);
    await page.getByTestId("stop").click();
    await untilState(from, "finished");
    await page.getByTestId("strip-start").waitFor();
    // It ended before its last step, so the first offer is to go on.
    expect(await page.getByTestId("strip-resume").textContent()).toBe("Resume");
    const resumed = events.length;
    await page.keyboard.press("p");
    expect((await untilEvent(events, resumed, (event) => event.type === "step")).step).toBe(2);
    await page.getByTestId("stop").click();
    await untilEvent(events, resumed, (event) => event.type === "state" && event.state === "finished");
    await page.getByTestId("strip-resume").waitFor();
  });
});

describe("a run", () => {
  it("tells the time left from the second step on", async () => {
    const { page } = lab;
    await page.getByTestId("strip-start").click();
    await expect.poll(() => page.getByTestId("time-left").count()).toBe(0);
    await untilEvent(events, 0, (event) => event.type === "step" && event.step === 2);
    const left = page.getByTestId("time-left");
    await left.waitFor();
    // Between its start and its second step the run has moved no text.
    expect(await layoutShift(page)).toBeLessThan(0.05);
    await expect.poll(() => left.textContent()).toMatch(/^(about \d+ (s|min|h( \d+ min)?)|a few seconds)$/);
  });

  it("tells none while paused, and runs phase by phase, the next one named", async () => {
    const { page } = lab;
    await expect.poll(() => title("single-phase")).toBe("Pause the run first");
    const from = events.length;
    await page.getByTestId("pause").click();
    await untilState(from, "paused");
    await page.getByTestId("play").waitFor();
    await expect.poll(() => page.getByTestId("time-left").count()).toBe(0);
    await page.evaluate(() => {
      addEventListener("lab:trainer", (event) => {
        const { type, phase } = (event as CustomEvent<{ type: string; phase: string }>).detail;
        if (type === "phase") Object.assign(globalThis, { played: phase });
      });
    });
    for (let press = 0; press < 2; press++) {
      const words = await nextPhase();
      await playPhase();
      const played = await page.evaluate(() => (globalThis as unknown as { played: Phase }).played);
      expect(PHASE_NAMES[played]).toBe(words);
    }
  });

  it("saves the last whole step at once while paused, and tells it", async () => {
    const { page } = lab;
    await playUntil("generate");
    const from = events.length;
    const step = await steps();
    await expect.poll(() => title("save-now")).toBe("Save a checkpoint now (C)");
    // It is shown for a few seconds only, so the test waits for it from before the key.
    const told = Promise.all([
      page
        .getByTestId("checkpoint")
        .filter({ hasText: `step ${step}, just now` })
        .waitFor(),
      page.locator(`[data-testid=save-now][title="Checkpoint of step ${step} written"]`).waitFor(),
    ]);
    await page.keyboard.press("c");
    expect((await untilEvent(events, from, ({ type }) => type === "checkpoint")).step).toBe(step);
    await told;
    await page.locator("[aria-live=polite]", { hasText: `Checkpoint of step ${step} written. ` }).waitFor();
    await expect.poll(() => page.getByTestId("checkpoint").textContent()).toMatch(/ s ago$/);
    await expect.poll(() => page.getByTestId("save-now").getAttribute("aria-disabled")).toBeNull();
  });

  it("shows the captions of a paused step before they have masks, and the masks before they have rewards", async () => {
    const { page } = lab;
    // The button of a phase opens the inspector, which fills up.
    const lesson = page.getByTestId("lesson");
    const made = (phase: Phase) => lesson.locator(`[data-phase=${phase}]`).textContent();
    await playUntil("generate");
    await expect.poll(() => made("sample")).toMatch(/Given: one rowG = 2 rollouts of each prompt$/);
    await expect.poll(() => lesson.getByTestId("given-rows").locator("canvas").count()).toBe(1);
    await playUntil("partner");
    await expect
      .poll(() => page.getByTestId("inspected-place").textContent())
      .toMatch(`step ${(await steps()) + 1} · loop 1`);
    await expect.poll(() => made("generate")).toMatch(/Caption of the policy/);
    expect(await made("partner")).toMatch(/next.*Not computed yet$/);
    const strip = page.getByTestId("live-strip");
    await expect.poll(() => strip.textContent()).toContain("no rewards yet");
    await playUntil("reward");
    await expect.poll(() => made("partner")).toMatch(/The partner draws (a|no) mask/);
    expect(await made("reward")).toMatch(/next.*Not computed yet$/);
    await playUntil("advantage");
    await expect.poll(() => made("reward")).toMatch(/^Reward\d/);
    // The group and the head of the panel know the reward, and no advantage before there is one.
    await expect.poll(() => strip.textContent()).toContain("no advantages yet");
    expect(await strip.textContent()).not.toMatch(/adv[±+−]/);
    const head = page.getByTestId("inspector").locator("header");
    await expect.poll(() => head.textContent()).toMatch(/reward \d/);
    expect(await head.textContent()).not.toContain("adv");
    await playUntil("loss");
    await expect.poll(() => head.textContent()).toContain("adv");
    await expect.poll(() => made("advantage")).toMatch(/advantage|than its group/);
    await expect.poll(() => strip.textContent()).not.toContain("advantages yet");
    await page.keyboard.press("Escape");
    await expect.poll(() => lesson.count()).toBe(0);
  });

  it("saves at the end of the step on a key while its weights are partly updated, and says so", async () => {
    const { page } = lab;
    await playUntil("ema");
    const from = events.length;
    const step = (await steps()) + 1;
    await expect.poll(() => title("save-now")).toBe("Save a checkpoint at the end of this step (C)");
    await page.keyboard.press("c");
    await expect.poll(() => page.getByTestId("checkpoint").textContent()).toBe(`after step ${step}`);
    await expect.poll(() => title("save-now")).toBe(`A checkpoint will be saved after step ${step}`);
    await expect.poll(() => page.getByTestId("save-now").getAttribute("aria-disabled")).toBe("true");
    await playPhase();
    expect(events.slice(from).filter(({ type }) => type === "checkpoint")).toEqual([]);
    await playPhase();
    expect((await untilEvent(events, from, ({ type }) => type === "checkpoint")).step).toBe(step);
  });
});

describe("the recorded run, opened beside it", () => {
  it("leads to its own rollouts", async () => {
    const { page } = lab;
    const run = readdirSync(join(root, "public/pocket/recorded")).find((name) => name !== "files.json") ?? "";
    await show(page, { screen: "train", run });
    await page.getByTestId("live-strip").getByTestId("rollout-card").first().getByRole("button").click();
    await page.getByTestId("inspector").waitFor();
    const address = new URLSearchParams(String(await page.evaluate("location.hash.slice(1)")));
    expect([address.get("run"), address.get("step")]).toEqual([run, null]);
    expect(address.get("rollout")).toMatch(/^25-1-\d+-\d$/);
    await show(page, { screen: "train" });
  });
});

describe("further metrics", () => {
  const chart = () => lab.page.getByTestId("chart-metric-loop1/policy_loss");

  it("are found by their words and get a chart, which the address keeps", async () => {
    const { page } = lab;
    await page.getByTestId("more-metrics").click();
    await page.getByRole("textbox", { name: "Find a metric" }).fill("clipped surrogate");
    const boxes = page.getByRole("dialog", { name: "More metrics" }).getByRole("checkbox");
    expect(await boxes.evaluateAll((all) => all.map((box) => box.getAttribute("aria-label")))).toContain(
      "loop1/policy_loss",
    );
    await page.getByRole("checkbox", { name: "loop1/policy_loss", exact: true }).check();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    const curve = chart().getByRole("img").first();
    await expect.poll(() => curve.getAttribute("aria-label")).toMatch(/between steps 1 and/);
    await chart().getByRole("button", { name: "What policy loss means" }).click();
    await page.getByText("Around 0 in the first pass over a batch").waitFor();
    await page.keyboard.press("Escape");
    expect(new URL(page.url()).hash).toContain("metrics=loop1/policy_loss");
    await page.getByTestId("nav-data").click();
    await page.getByTestId("nav-train").click();
    await chart().waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("can be taken off again", async () => {
    await lab.page.getByRole("button", { name: "More actions for policy loss" }).click();
    await lab.page.getByRole("menuitem", { name: "Remove" }).click();
    await expect.poll(() => chart().count()).toBe(0);
    expect(new URL(lab.page.url()).hash).not.toContain("policy_loss");
  });

  it("leave the limit of the gradient in its chart", async () => {
    const curve = lab.page.getByTestId("chart-gradient");
    await curve.scrollIntoViewIfNeeded();
    await expect.poll(() => curve.getByRole("img").first().getAttribute("aria-label")).toMatch(/clip 1\.00$/);
  });
});

describe("afterwards", () => {
  it("the console has no errors and the page no problems", async () => {
    expect(lab.consoleErrors).toEqual([]);
    await expect.poll(() => lab.page.locator("[data-testid=problems] p").allTextContents()).toEqual([]);
  });
});

describe("a run of both loops, phase by phase", () => {
  let both: OpenPage;
  let own: RunEvent[];
  beforeAll(async () => {
    const settings = { ...CHEAP_RUN, loop2Weight: "1", numGenerations: "4", promptsPerStep: "3", seed: "5" };
    ({ lab: both, events: own } = await openFollowed({ screen: "train", ...settings }));
  });
  afterAll(() => both.close());

  it("shows the loop whose phase ran, and stays at a rollout whose group teaches", async () => {
    const { page } = both;
    const made: readonly Phase[] = ["partner", "reward", "advantage", "loss"];
    const text = (testId: string) => page.getByTestId(testId).textContent();
    const names: (string | null)[] = [];
    const seen: string[] = [];
    for (let press = 0; !seen.includes("2 loss"); press++) {
      expect(press).toBeLessThan(20);
      const words = (await page.getByTestId("single-phase").getAttribute("title")) ?? "";
      const [, loop, name] = /^Run one phase: loop (\d) ▸ (.+), then pause/.exec(words) ?? [];
      const phase = made.find((one) => PHASE_NAMES[one] === name);
      const from = own.length;
      await page.getByTestId("single-phase").click();
      await untilState(from, "paused", own);
      // Before, a loop has no rollouts.
      if (phase === undefined) continue;
      await expect.poll(() => text("inspected-place")).toContain(`loop ${loop} · `);
      const part = page.getByTestId("lesson").locator(`[data-phase=${phase}]`);
      await expect.poll(() => part.textContent()).not.toContain("Not computed yet");
      seen.push(`${loop} ${phase}`);
      // In this step the rewards of a later group of the loop differ, those of the first do not.
      if (loop === "1" && phase === "advantage") expect(await part.textContent()).toContain("A = (");
      expect(await page.getByTestId("inspector").getByRole("heading", { name: "Rollout 1", exact: true }).count()).toBe(
        1,
      );
      if (loop === "1" && phase !== "partner") names.push(await text("inspected-place"));
    }
    expect(seen).toEqual(
      [1, 2].flatMap((loop) => made.slice(0, 3).map((phase) => `${loop} ${phase}`)).concat("1 loss", "2 loss"),
    );
    expect(new Set(names).size).toBe(1);
  });

  it("stays on Home with its result while it is resumed after a reload", async () => {
    const { page } = both;
    const stepped = own.length;
    await page.keyboard.press("s");
    await untilState(stepped, "paused", own);
    await page.getByTestId("stop").click();
    await untilState(stepped, "finished", own);
    await page.goto("about:blank");
    await page.goto(`${both.url}#screen=home`);
    await untilReady(page);
    await page.getByTestId("home-run").getByText("step 1 of 2").waitFor();
    await page.evaluate(`{
      globalThis.headings = new Set();
      const look = () => headings.add(document.querySelector("main h1")?.textContent);
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    }`);
    const from = own.length;
    await page.getByRole("button", { name: "Resume", exact: true }).first().click();
    await untilState(from, "running", own);
    const headings = (await page.evaluate("[...headings]")) as readonly (string | null)[];
    expect(headings.filter((text) => /^A model learns/.test(text ?? ""))).toEqual([]);
  });
});

describe("a trainer that throws", () => {
  it("is ended: the run is free, and the page says that it failed, not that another tab has it", async () => {
    const { page } = lab;
    const held = () => page.evaluate(async () => ((await navigator.locks.query()).held ?? []).length);
    await expect.poll(held).toBeGreaterThan(0);
    // The user is elsewhere, and has asked to be told.
    const notifies = arePluggedIn("notify");
    const notify = page.getByRole("switch", { name: "Notify when a run ends" });
    if (notifies) {
      await notify.click();
      await page.getByText(/^The browser refuses notifications; allow them/).waitFor();
      await lab.context.grantPermissions(["notifications"]);
      await notify.click();
      await expect.poll(() => notify.getAttribute("aria-checked")).toBe("true");
    }
    await page.evaluate(`
      document.hasFocus = () => false;
      globalThis.told = [];
      globalThis.Notification = class extends Notification {
        constructor(title, options) { super(title, options); told.push(options.body); }
      };
    `);
    await page.evaluate(`trainerWorker.dispatchEvent(new ErrorEvent("error", { message: "out of memory" }))`);
    await page.getByText(/^The trainer worker failed: out of memory.* restart it to continue$/).waitFor();
    await expect.poll(held).toBe(0);
    await expect.poll(() => page.getByTestId("run-state").textContent()).toBe("failed");
    const told = [expect.stringMatching(/: failed, step \d+ of 200/)];
    expect(await page.evaluate("told")).toEqual(notifies ? told : []);
    await expect.poll(() => page.locator("main").textContent()).not.toMatch(/another tab/);
    await page.getByTestId("trainer-notice").getByRole("button", { name: "Restart the trainer" }).waitFor();
  });
});
