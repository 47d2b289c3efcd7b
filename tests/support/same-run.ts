/** Equality of one run that was computed in two ways. */
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { expect } from "vitest";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { decodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import type { GroupRecord, StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";

/** Everything that a run folder records. */
export async function recordsOf(path: string) {
  const [store, id] = [nodeStore(dirname(path)), basename(path)];
  const run = await openRun(store, id);
  const steps = await run.groupSteps();
  return {
    steps,
    manifest: JSON.parse(await readFile(join(path, "run.json"), "utf8")) as Record<string, unknown>,
    metrics: await run.readMetrics(),
    rollouts: await Promise.all(steps.map((step) => run.readGroups(step))),
    evaluations: await readEvaluations(store, id),
  };
}
export type Records = Awaited<ReturnType<typeof recordsOf>>;

/** Metrics within 1e-3, equal rows, captions, actions and evaluations, and masks but for single pixels. @param equal steps whose masks are equal */
export function expectSameRun(own: Records, wanted: Records, equal: number): void {
  expect(own.steps).toEqual(wanted.steps);
  expect(own.metrics.map(({ step }) => step)).toEqual(wanted.metrics.map(({ step }) => step));
  expectNear(own.metrics, wanted.metrics, 1e-3);
  expect(own.rollouts.flat().map(drawn)).toEqual(wanted.rollouts.flat().map(drawn));
  expect(own.rollouts.slice(0, equal).map(masks)).toEqual(wanted.rollouts.slice(0, equal).map(masks));
  expectSameMasks(own.rollouts.flatMap(masks), wanted.rollouts.flatMap(masks));
  const scores = (near: boolean, { evaluations }: Records) =>
    evaluations.map(({ report: { step, n, baseline, means } }) => [
      ...[step, n, baseline],
      Object.fromEntries(Object.entries(means).map(([name, value]) => [name, near ? expect.closeTo(value, 4) : value])),
    ]);
  expect(scores(false, own)).toEqual(scores(true, wanted));
}

/** Metrics of two runs, without those of time and of rounding itself. @param bound of a difference, relative above 1 */
export function expectNear(own: readonly StepMetrics[], wanted: readonly StepMetrics[], bound: number): void {
  for (const [at, row] of wanted.entries()) {
    for (const [name, value] of Object.entries(row)) {
      if (/^(time\/|memory\/|step_time)|logp_train_vs_sampling/.test(name)) continue;
      const gap = Math.abs(value - (own[at]?.[name] ?? Number.NaN));
      expect(gap, `${name} of step ${at + 1}`).toBeLessThan(bound * Math.max(1, Math.abs(value)));
    }
  }
}

/** The part of a group that must be the same on any machine. */
function drawn({ step, loop, group, rowId, rollouts }: GroupRecord): unknown {
  const said = rollouts.map(({ completion, captionPrime, actions }) => {
    return [completion, captionPrime, actions.map(({ id }) => id)];
  });
  return [step, loop, group, rowId, said];
}

const masks = (groups: readonly GroupRecord[]): (Rle | null)[] =>
  groups.flatMap(({ rollouts }) => rollouts.map(({ predictedMask }) => predictedMask));

/** Weights that were updated elsewhere differ by rounding, so that a logit near 0 may fall on either side: 1 pixel in 1,000. */
function expectSameMasks(own: readonly (Rle | null)[], wanted: readonly (Rle | null)[]): void {
  expect(own.length).toBe(wanted.length);
  for (const [at, mask] of wanted.entries()) {
    const [a, b] = [mask, own[at]].map((one) => (one ? decodeRle(one) : new Uint8Array(0))) as [Uint8Array, Uint8Array];
    expect(b.length, `mask ${at}`).toBe(a.length);
    expect(b.filter((inside, pixel) => inside !== a[pixel]).length, `mask ${at}`).toBeLessThanOrEqual(a.length / 1000);
  }
}
