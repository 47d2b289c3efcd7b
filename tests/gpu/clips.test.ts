/** Both loops over clips: a step of the session on the pocket clips. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { visibleFrames } from "../../src/engine/data/film-strip.ts";
import { decodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { openTestLab } from "../support/session.ts";

const FRAMES = 2;

it("a step draws frames, decodes each alone, and pays J and F; held-out rows have evenly spread frames", async () => {
  const lab = await openTestLab({ shards: [join(root, "public", "pocket", "clips")] });
  const weights = { loop1Iou: 0, loop1Meteor: 0, loop1RepetitionCost: 0, loop1J: 0.5, loop1F: 0.5 } as const;
  const settings = {
    steps: 2,
    clipFrames: FRAMES,
    promptsPerStep: 2,
    maskPolicy: "candidates",
    groupsAtOnce: 0,
  } as const;
  const held = { evalSteps: 2, evalRows: 2, heldOutShare: 0.1, selectionShare: 0 } as const;
  const run = await lab.start({ ...weights, ...settings, ...held, maxCompletionLength: 8 });
  await run.done;
  const { id } = run.manifest;
  const steps = await lab.metrics(id);
  for (const row of steps) {
    for (const loop of [1, 2]) expect(row[`loop${loop}/logp_train_vs_sampling/max`]).toBeLessThan(1e-4);
    expect(Number.isFinite(row.loss)).toBe(true);
  }
  // Frames do not stay on the device.
  expect(steps[1]?.["memory/num_tensors"]).toBe(steps[0]?.["memory/num_tensors"]);
  const opened = await openRun(lab.store, id);
  const drawn = new Set<string>();
  for (const step of [1, 2]) {
    const groups = await opened.readGroups(step);
    expect(groups.map(({ loop }) => loop)).toEqual([1, 1, 2, 2]);
    for (const { loop, rollouts } of groups) {
      for (const { givenMask, predictedMask, prompt, terms, reward, frames } of rollouts) {
        expect(frames).toBe(6);
        const given = visibleFrames(decodeRle(givenMask as Rle), 6);
        expect(given.length).toBe(FRAMES);
        drawn.add(String(given));
        expect(prompt.split("<img>").length - 1).toBe(FRAMES);
        const found = predictedMask === null ? [] : visibleFrames(decodeRle(predictedMask), 6);
        expect(found.every((frame) => given.includes(frame))).toBe(true);
        const [j, f] = ["j", "f"].map((name) => terms.find((term) => term.name === name)?.value as number);
        if (loop === 1) expect(reward).toBeCloseTo(((j as number) + (f as number)) / 2, 6);
      }
    }
  }
  expect(drawn.size).toBeGreaterThan(1);
  const evaluation = (await readEvaluations(lab.store, id)).at(-1);
  expect(evaluation?.rows.length).toBe(2);
  for (const { maskGreedy, loop1_greedy } of evaluation?.rows ?? []) {
    expect(visibleFrames(decodeRle(maskGreedy as Rle), 6).every((frame) => [0, 5].includes(frame))).toBe(true);
    expect(loop1_greedy).toBeGreaterThanOrEqual(0);
  }
  lab.session.dispose();
});
