/** A logged step that is computed again, and the alternatives of a rollout, equal what was logged. */
import { expect, it } from "vitest";
import { encodeRle, maskIou } from "../../src/engine/data/mask/rle.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { lookAtRollout } from "../../src/plugins/rollout-tools/look.ts";
import { replayStep } from "../../src/plugins/rollout-tools/replay.ts";
import { openTestLab, readOnlyCopy } from "../support/session.ts";

it("a run is repeated step by step with equal bits, from a checkpoint and from the start", async () => {
  const store = memoryStore();
  const lab = await openTestLab({ store });
  const run = await lab.start({ steps: 2, saveSteps: 1, saveTotalLimit: 2, evalSteps: 0 });
  await run.done;
  const before = (await store.list(run.manifest.id)).map(({ path, size }) => [path, size]);
  const { signal } = new AbortController();
  const replay = (step: number, source?: RunStore) =>
    lab.session.withLab("replay", (own) =>
      replayStep(own, { id: run.manifest.id, list: lab.list, step, onStep: () => undefined, signal, source }),
    );
  // A run outside the store is only read.
  expect(await replay(2, await readOnlyCopy(store, run.manifest.id))).toMatchObject({
    from: 1,
    rollouts: 4,
    otherRollouts: [],
    otherMetrics: [],
  });
  const first = await replay(1);
  expect(first).toMatchObject({ from: 0, rollouts: 4, otherRollouts: [], otherMetrics: [] });
  expect(first.metrics).toBeGreaterThan(30);
  // Alternatives of a rollout: its tokens and mask have the probabilities from which the log was drawn.
  for (const { loop, rollouts } of await (await openRun(store, run.manifest.id)).readGroups(2)) {
    const { id: rollout, actions, predictedMask } = rollouts[1] as (typeof rollouts)[number];
    const asked = { id: run.manifest.id, list: lab.list, step: 2, rollout, onStep: () => undefined, signal };
    const look = await lab.session.withLab("replay", (own) => lookAtRollout(own, asked));
    expect(look.from).toBe(1);
    expect(look.tokens).toHaveLength(loop === 1 ? actions.length : 0);
    for (const [at, choices] of look.tokens.entries()) {
      const logps = choices.map(({ logp }) => logp);
      expect(logps).toEqual(logps.toSorted((a, b) => b - a));
      expect(logps.reduce((sum, logp) => sum + Math.exp(logp), 0)).toBeLessThan(1 + 1e-6);
      const { id, label, samplingLogp } = actions[at] as (typeof actions)[number];
      const drawn = choices.find((choice) => choice.id === id);
      if (drawn === undefined) expect(samplingLogp).toBeLessThanOrEqual((logps.at(-1) as number) + 1e-4);
      else expect(drawn).toEqual({ id, label, logp: expect.closeTo(samplingLogp, 4) });
    }
    const { height, width, values } = look.mask as NonNullable<typeof look.mask>;
    const mask = encodeRle(
      values.map((level) => Number(level >= 128)),
      height,
      width,
    );
    expect(maskIou(mask, predictedMask as NonNullable<typeof predictedMask>).iou).toBeGreaterThan(0.999);
  }
  const unknown = { id: run.manifest.id, list: lab.list, step: 2, rollout: "2-1-0-99" };
  const refused = lab.session.withLab("replay", (own) =>
    lookAtRollout(own, { ...unknown, onStep: () => undefined, signal }),
  );
  await expect(refused).rejects.toThrow(/Rollout 2-1-0-99 is not in the log/);
  expect((await store.list(run.manifest.id)).map(({ path, size }) => [path, size])).toEqual(before);
  await expect(replay(3)).rejects.toThrow(/no metrics of step 3/);
  const log = `${run.manifest.id}/metrics.jsonl`;
  await store.write(log, (await store.readText(log)).replace(/"loop1\/reward":[^,]+/, '"loop1/reward":0.123'));
  expect((await replay(1)).otherMetrics.map(({ name }) => name)).toEqual(["loop1/reward"]);
});
