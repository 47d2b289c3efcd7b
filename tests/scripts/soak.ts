/**
 * npx tsx tests/scripts/soak.ts [--steps N] [--every N] [--read-backs N] [--idle MINUTES]
 *
 * Trains N steps (2,000) of the demo's model in the built page in headless Chromium, with features on disk, evaluations and
 * checkpoints, and prints the resident memory of renderer and GPU process every so many steps (50), and its slope over the
 * second half. Then the page reads a buffer back N times (100,000): it prints how many reads were refused, with the first
 * reason, and the memory before and after. Chromium may refuse reads once the connection to its GPU process has ended ("A
 * valid external Instance reference no longer exists"), which a run treats as a lost device. --idle pauses a run in a private
 * window instead, for so many minutes, stops it, and prints whether it is still stored: Chromium forgets the files of a
 * private window whose file system was not used for ten minutes.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { CHEAP_RUN, openFollowed, type RunEvent, show, untilEvent } from "../support/page.ts";
import { megabytes } from "../support/true-walk.ts";

const OPTIONS = {
  steps: { takes: 1 },
  every: { takes: 1 },
  "read-backs": { takes: 1 },
  idle: { takes: 1 },
} as const;
/** Most milliseconds of a part. */
const WAIT = 24 * 3_600_000;

interface Sample {
  readonly at: number;
  readonly megabytes: Readonly<Record<string, number>>;
}

/** Slope of a least-squares line in MB per 1,000 steps. */
function slope(samples: readonly Sample[], kind: string): number {
  const points = samples.map(({ at, megabytes: own }) => [at, own[kind] ?? 0] as const);
  const mean = (of: 0 | 1): number => points.reduce((sum, point) => sum + point[of], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const sum = (term: (point: readonly [number, number]) => number): number =>
    points.reduce((total, point) => total + term(point), 0);
  return (1000 * sum(([at, size]) => (at - x) * (size - y))) / sum(([at]) => (at - x) ** 2);
}

/** Reads one number back so many times. @returns refused reads, and the first reason */
const READ_BACKS = `async (count) => {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const from = device.createBuffer({ size: 4, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
  let refused = 0;
  let reason = "";
  for (let at = 0; at < count; at++) {
    const to = device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    device.queue.writeBuffer(from, 0, new Uint32Array([at]));
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(from, 0, to, 0, 4);
    device.queue.submit([encoder.finish()]);
    try {
      await to.mapAsync(GPUMapMode.READ);
      if (new Uint32Array(to.getMappedRange())[0] !== at) throw new Error("another number was read");
    } catch (thrown) {
      refused++;
      reason ||= "read " + at + ": " + thrown.message;
    }
    to.destroy();
  }
  device.destroy();
  return { refused, reason };
}`;

/** @throws Error with the page's sentence when the run cannot be stopped */
async function idleRun(minutes: number): Promise<boolean> {
  const { lab, events } = await openFollowed({ screen: "train", ...CHEAP_RUN, steps: "1000" });
  const { page } = lab;
  const stated = (from: number, wanted: string): Promise<RunEvent> =>
    untilEvent(events, from, ({ type, state }) => type === "state" && state === wanted, WAIT);
  try {
    await page.getByTestId("strip-start").click();
    await untilEvent(events, 0, ({ type }) => type === "step", WAIT);
    await page.getByTestId("pause").click();
    await stated(0, "paused");
    await page.waitForTimeout(minutes * 60_000);
    const from = events.length;
    await page.getByTestId("stop").click();
    await stated(from, "finished");
    await show(page, { screen: "runs" });
    const state = page.getByTestId("runs-table").locator("tbody [data-label=State]").first();
    return (await state.textContent()) === "stopped";
  } finally {
    await lab.close();
  }
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const steps = whole(parsed, "steps", 4, 1_000_000, 2000);
  const every = whole(parsed, "every", 1, steps, Math.min(50, Math.ceil(steps / 4)));
  const reads = whole(parsed, "read-backs", 0, 100_000_000, 100_000);
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  const idle = whole(parsed, "idle", 0, 1_000_000, 0);
  if (idle > 0) {
    const stored = await idleRun(idle);
    print(`paused for ${idle} minutes in a private window, then stopped: ${stored ? "stored" : "not stored"}`);
    return stored ? 0 : 1;
  }
  const settings = {
    ...CHEAP_RUN,
    steps: String(steps),
    saveSteps: String(every),
    evalSteps: String(every),
    saveTotalLimit: "2",
    featureDisk: "1",
  };
  const profile = mkdtempSync(join(tmpdir(), "lab-soak-"));
  const { lab, events } = await openFollowed({ screen: "train", ...settings }, { profile });
  const { page, browser, consoleErrors } = lab;
  try {
    const devtools = await browser.newBrowserCDPSession();
    const samples: Sample[] = [];
    await page.getByTestId("strip-start").click();
    await megabytes(devtools);
    for (let at = every; at <= steps; at += every) {
      await untilEvent(events, 0, ({ type, step }) => type === "step" && step === at, WAIT);
      samples.push({ at, megabytes: await megabytes(devtools) });
      const { renderer = 0, GPU = 0 } = samples.at(-1)?.megabytes ?? {};
      print(`step ${at}: at most ${renderer} MB in the page, ${GPU} MB in the GPU process`);
    }
    await untilEvent(events, 0, ({ type, state }) => type === "state" && state === "finished", WAIT);
    const late = samples.slice(Math.floor(samples.length / 2));
    for (const kind of ["renderer", "GPU"]) print(`${kind}: ${slope(late, kind).toFixed(1)} MB per 1,000 steps`);
    const count = (wanted: string): number => events.filter(({ type }) => type === wanted).length;
    print(`${count("eval")} evaluations, ${count("checkpoint")} checkpoints, ${consoleErrors.length} console errors`);
    const before = await megabytes(devtools);
    const began = performance.now();
    const { refused, reason } = (await page.evaluate(`(${READ_BACKS})(${reads})`)) as {
      readonly refused: number;
      readonly reason: string;
    };
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    print(`${reads} reads in ${seconds} s, ${refused} refused${refused > 0 ? ` (${reason})` : ""}`);
    print(`before ${JSON.stringify(before)} MB, after ${JSON.stringify(await megabytes(devtools))} MB`);
    return refused === 0 && consoleErrors.length === 0 ? 0 : 1;
  } finally {
    await lab.close();
    rmSync(profile, { recursive: true, force: true });
  }
});
