/**
 * The way of a checkpoint through the page, as a person takes it: drop the folder, ask about a picture, start, one step,
 * stop, reload, resume; then the tab's process is killed, and later the tab is closed, in the middle of a step; with the time
 * and the memory of every process of the browser after each part.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CDPSession, Page } from "playwright-core";
import { watchErrors } from "../../scripts/lib/browser.ts";
import {
  dropModel,
  followTrainer,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "./page.ts";

/** Settings of the walk: the least that takes both loops through a large model. */
export const WALK_SETTINGS = {
  steps: "4",
  numGenerations: "2",
  promptsPerStep: "1",
  groupsAtOnce: "1",
  maxCompletionLength: "4",
  partnerMaxTokens: "4",
  maxTiles: "1",
  loraR: "16",
  loraAlpha: "32",
  warmupSteps: "0",
  saveSteps: "1",
  evalSteps: "0",
  loop2Weight: "0.1",
  gradientCheckpointing: "true",
  featureStorage: "f16",
  featureDisk: "1",
};

const OTHER_PICTURE = "tests/golden/sa2va-tiny-qwen2/image.png";

/** A part of the way: its seconds, and the most resident megabytes of each kind of process during it. */
export interface WalkPart {
  readonly what: string;
  readonly seconds: number;
  /** By the browser's name of the kind, e.g. "renderer" and "GPU"; the largest process of each. */
  readonly megabytes: Readonly<Record<string, number>>;
  /** What the page says at its end. */
  readonly said?: string;
}

export interface WalkOptions {
  /** Folder of the checkpoint. */
  readonly folder: string;
  readonly settings?: Readonly<Record<string, string>>;
  /** Environment of the browser. */
  readonly env?: Readonly<Record<string, string>>;
  /** Most milliseconds of a part. */
  readonly wait: number;
  /** The last thing to do; all by default. */
  readonly until?: WalkEnd | undefined;
  /** Whether to start a run without asking about pictures. */
  readonly withoutAnswers?: boolean;
  readonly onPart?: (part: WalkPart) => void;
}

/** Where a walk may end: with the model loaded, or once it has answered. */
export const WALK_ENDS = ["ready", "answers"] as const;
export type WalkEnd = (typeof WALK_ENDS)[number];

interface WalkAnswers {
  /** What the page said while it answered. */
  readonly said: readonly string[];
  /** Caption of the region, and number of masks of the phrase. */
  readonly caption: string;
  readonly masks: number;
  /** Seconds from *Cancel* to the button that asks again. */
  readonly cancelSeconds: number;
}

/** What is seen on the way; a shorter walk sees less. */
export interface Walk {
  readonly parts: readonly WalkPart[];
  readonly events: readonly RunEvent[];
  readonly consoleErrors: readonly string[];
  readonly answers?: WalkAnswers;
  /**
   * Step at which the run was stopped, and those of the last checkpoint when the tab's process was killed and when the tab was
   * closed; from which steps it resumed.
   */
  readonly run?: { readonly leftAt: readonly number[]; readonly resumedAt: readonly number[] };
}

/** Asks the opened row with the button that is shown. @returns the answer's text, and what the page said meanwhile */
async function ask(page: Page): Promise<{ readonly answer: string; readonly said: string[] }> {
  const said = new Set<string>();
  await page.getByTestId("try-ask").click();
  const status = page.locator("section", { has: page.getByTestId("try-stop") }).getByRole("status");
  const answer = page.getByTestId("try-answer");
  while (!(await answer.isVisible())) {
    const [text] = await status.allTextContents();
    if (text) said.add(text);
    const [told] = await problems(page);
    if (told !== undefined) throw new Error(`Instead of an answer the page says: ${told}`);
    await page.waitForTimeout(50);
  }
  return { answer: (await answer.textContent()) ?? "", said: [...said] };
}

/** Describes a region, segments a phrase, and cancels a question about another picture. */
async function askAll(page: Page, ended: (what: string, said: string) => Promise<void>): Promise<WalkAnswers> {
  await show(page, { screen: "data" });
  const rows = page.getByTestId("gallery").getByRole("button");
  await rows.nth(0).click();
  await page.getByRole("tab", { name: "Try the model" }).click();
  const described = await ask(page);
  const caption = (await page.getByTestId("try-answer").locator("dd").first().textContent()) ?? "";
  await ended("Describe", described.said.join(", "));
  await page.getByRole("radio", { name: "Segment phrases" }).click();
  const segmented = await ask(page);
  const masks = [...segmented.answer.matchAll(/IoU with the row's mask/g)].length;
  await ended("Segment", segmented.said.join(", "));
  // Another picture, whose features are not kept.
  await page.getByTestId("try-picture").setInputFiles(OTHER_PICTURE);
  await page.getByTestId("try-phrases").fill("a cup");
  // Within the page, because a small model answers before a click from outside arrives.
  await page.evaluate(`new Promise((done) => {
    const one = (id) => document.querySelector("[data-testid=" + id + "]");
    const stopWhenEncoding = () => {
      const stop = one("try-stop");
      if (stop === null || !one("try-out").textContent.includes("Encoding")) return requestAnimationFrame(stopWhenEncoding);
      stop.click();
      done();
    };
    one("try-ask").click();
    requestAnimationFrame(stopWhenEncoding);
  })`);
  const cancelled = performance.now();
  await page.getByTestId("try-ask").waitFor();
  const cancelSeconds = (performance.now() - cancelled) / 1000;
  await ended("ask about another picture, Cancel", `cancelled after ${cancelSeconds.toFixed(1)} s`);

  return { said: [...described.said, ...segmented.said], caption, masks, cancelSeconds };
}

/** @throws Error when a part takes too long, or naming the problems that the page lists */
export async function walkTrueSize(options: WalkOptions): Promise<Walk> {
  const { folder, settings, env = {}, wait, until, onPart } = options;
  const parts: WalkPart[] = [];
  const profile = mkdtempSync(join(tmpdir(), "lab-profile-"));
  let lab: OpenPage | undefined;
  try {
    const began = performance.now();
    const opened = await openFollowed({ screen: "setup", ...WALK_SETTINGS, ...settings }, { env, profile });
    lab = opened.lab;
    const { events } = opened;
    const { context, browser, consoleErrors, url } = lab;
    let { page } = lab;
    page.setDefaultTimeout(wait);
    const devtools = await browser.newBrowserCDPSession();
    let last = began;
    const ended = async (what: string, said?: string): Promise<void> => {
      const now = performance.now();
      const part = { what, seconds: (now - last) / 1000, megabytes: await megabytes(devtools) };
      parts.push(said === undefined ? part : { ...part, said });
      onPart?.(parts.at(-1) as WalkPart);
      const told = await problems(page);
      if (told.length > 0) throw new Error(`After "${what}" the page says: ${told.join("; ")}`);
      last = performance.now();
    };
    const stated = (from: number, state: string): Promise<RunEvent> =>
      untilEvent(events, from, (event) => event.type === "state" && event.state === state, wait);
    await ended("page with the pocket model");

    await dropModel(page, folder);
    await page.getByTestId("fit").waitFor({ state: "attached" });
    await untilReady(page);
    const from = (await page.getByTestId("weights-from").textContent()) ?? "";
    const peak = await page.getByTestId("fit").locator("tr", { hasText: "Peak, about" }).locator("td").textContent();
    await ended("drop to ready", `read from ${from}; planned peak ${peak}`);
    const seen = { parts, events, consoleErrors };
    if (until === "ready") return seen;

    const answers = options.withoutAnswers === true ? undefined : await askAll(page, ended);
    const told = { ...seen, ...(answers === undefined ? {} : { answers }) };
    if (until === "answers") return told;
    const resumedAt: number[] = [];
    let after = events.length;
    const next = (type: string): Promise<RunEvent> => untilEvent(events, after, (event) => event.type === type, wait);
    const leftAt: number[] = [];
    const left = (): void => void leftAt.push(events.findLast(({ type }) => type === "checkpoint")?.step ?? 0);
    const resume = async (what: string): Promise<void> => {
      await untilReady(page);
      await ended(`${what} to ready`);
      await show(page, { screen: "runs" });
      const button = page.locator("main").getByRole("button", { name: /resume$/i });
      const label = (await button.textContent()) ?? "";
      after = events.length;
      await button.click();
      const { step = 0 } = await stated(after, "running");
      resumedAt.push(step);
      await ended("resume to running", label);
      await next("step");
      await ended(`step ${step + 1}`);
    };
    const openTab = async (): Promise<void> => {
      page = await context.newPage();
      page.setDefaultTimeout(wait);
      watchErrors(page, consoleErrors);
      await followTrainer(page, events);
      await page.goto(url);
    };

    await page.getByTestId("strip-start").click();
    await next("step");
    await ended("Start to the end of step 1");
    await page.getByTestId("stop").click();
    await stated(after, "finished");
    left();
    await ended("stop, with a checkpoint");

    await page.reload();
    await resume("reload");
    await next("checkpoint");
    const crashed = page.waitForEvent("crash");
    // Never answers, since the process that would is gone.
    void (await context.newCDPSession(page)).send("Page.crash").catch(() => undefined);
    await crashed;
    left();
    const tab = page;
    await openTab();
    await tab.close();
    await resume("kill of the tab's process");
    await next("checkpoint");
    await page.close();
    left();
    await openTab();
    await resume("closed tab");
    await stated(after, "finished");
    await ended("end of the run");
    return { ...told, run: { leftAt, resumedAt } };
  } finally {
    await lab?.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Most resident megabytes of the browser's processes since the last call, by kind; of each kind the largest. */
export async function megabytes(devtools: CDPSession): Promise<Record<string, number>> {
  const { processInfo } = await devtools.send("SystemInfo.getProcessInfo");
  const most: Record<string, number> = {};
  for (const { type, id } of processInfo) most[type] = Math.max(most[type] ?? 0, mostResident(id) ?? 0);
  return most;
}

/** Most resident megabytes of a process since the last call; undefined once it has ended. */
export function mostResident(id: number): number | undefined {
  try {
    const kibibytes = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? 0);
    // Linux then counts the most resident bytes from here.
    writeFileSync(`/proc/${id}/clear_refs`, "5");
    return Math.round((kibibytes * 1024) / 1e6);
  } catch (thrown) {
    if (["ENOENT", "ESRCH"].includes((thrown as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw thrown;
  }
}
