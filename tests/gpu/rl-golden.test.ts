/** The numbers of a GRPO step on the device: the recorded ones, and those of a group in micro-batches. */

import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { recomputing, type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { captionMask } from "../../src/engine/rl/loops/texts.ts";
import { type LossSettings, lossSettingsOf } from "../../src/engine/rl/objective/loss-types.ts";
import { lossGradients } from "../../src/engine/rl/step/backward.ts";
import type { Group, GroupGradients, LossGroup } from "../../src/engine/rl/step/group.ts";
import { microGradients, splits } from "../../src/engine/rl/step/loop-loss.ts";
import type { Rollout } from "../../src/engine/runs/rollouts/records.ts";
import { grpoParity } from "../../tools/parity/grpo/grpo.ts";
import { optimParity } from "../../tools/parity/optim.ts";
import type { ParityRow } from "../../tools/parity/row.ts";
import { logpsOf } from "../support/caption-logps.ts";
import { useGpu } from "../support/gpu.ts";
import { cheapConfig } from "../support/session.ts";
import { gradientGap, type TinyGroup, tinyGroup } from "../support/tiny-group.ts";

let tiny: TinyGroup;

beforeAll(async () => {
  await useGpu();
  tiny = await tinyGroup();
});

/** The tiny group as the loss sees it, without fields that only records need. */
function sampled(): Group {
  const { model, prompt, completions } = tiny;
  const { mask, width: actions } = captionMask(completions, false);
  return {
    rollouts: completions.map(() => ({}) as Rollout),
    actions,
    mask,
    probabilities: null,
    splitsRows: true,
    logProbs: (weights, own, rows) => {
      const chosen = rows === undefined ? completions : completions.slice(rows.from, rows.to);
      return logpsOf(model, weights, { features: own, prompt, completions: chosen, actions }, FULL_SAMPLING);
    },
  } as Partial<Group> as Group;
}

/** The group's gradient, in one batch for 0 rows. */
async function gradientsOf(
  advantages: readonly number[],
  refLogps: Float32Array | null,
  weights: Weights,
  settings: LossSettings,
  loopWeight: number,
  rows: number,
): Promise<GroupGradients> {
  const { set, features } = tiny;
  const group: LossGroup = {
    ...sampled(),
    advantages: { values: advantages, mean: 0, std: 1, stdUsed: 1, present: advantages.length, zeroSpread: false },
    place: 0,
    refLogps,
    oldLogps: null,
    equal: null,
  };
  const shared = { weights, parameters: set, names: Object.keys(set), settings, loopWeight };
  if (splits(group, rows)) return await microGradients({ ...shared, group, features }, rows);
  return await lossGradients({ ...shared, groups: [group], logProbs: (view) => [group.logProbs(view, features)] });
}

async function gradients(changes: Partial<LabConfig>, microRows: number, recompute: boolean) {
  const { model, set } = tiny;
  const config = cheapConfig({ beta: 0.1, ...changes });
  const group = sampled();
  const active = group.mask.reduce((sum, m) => sum + m, 0);
  const settings = lossSettingsOf(config, config.entropyCoef, 1, active, config.maxCompletionLength);
  const plain = weightsView(model.frozen, set, 2);
  const weights = recompute ? recomputing(plain, set) : plain;
  const reference = Float32Array.from(group.mask, (_, at) => -3 - Math.sin(at));
  const before = tf.memory().numTensors;
  const advantages = [1.2, -0.4, 0.3, -1.5, 0.4];
  const result = await gradientsOf(advantages, reference, weights, settings, 0.7, microRows);
  const found = new Map<string, Float32Array>();
  for (const [name, gradient] of Object.entries(result.gradients)) {
    const values = (await gradient.data()) as Float32Array;
    if (values.some((value) => value !== 0)) found.set(name, values);
    gradient.dispose();
  }
  const [readback] = result.readbacks as [GroupGradients["readbacks"][number]];
  return { found, readback, left: tf.memory().numTensors - before };
}

describe("micro-batches over rollouts", () => {
  it.each([
    ["the default loss", {}, 2, false],
    ["one row at a time, with entropy", { entropyCoef: 0.05, lossType: "dapo" }, 1, false],
    ["a fixed length", { lossType: "dr_grpo" }, 2, false],
    ["ratios per sequence, recomputed blocks", { importanceSamplingLevel: "sequence" }, 3, true],
  ] as const)("give the same gradient: %s", async (_, changes, rows, recompute) => {
    const whole = await gradients(changes, 0, false);
    const split = await gradients(changes, rows, recompute);
    expect(whole.found.size).toBeGreaterThan(20);
    expect(gradientGap(whole.found, split.found)).toBeLessThan(2e-6);
    expect(split.readback.loss).toBeCloseTo(whole.readback.loss, 5);
    expect(split.readback.policy).toBeCloseTo(whole.readback.policy, 5);
    const gap = split.readback.logps.map((value, at) => Math.abs(value - (whole.readback.logps[at] as number)));
    const counted = gap.filter((_gap, at) => sampled().mask[at] === 1);
    expect(Math.max(...counted)).toBeLessThan(2e-6);
    expect([whole.left, split.left]).toEqual([0, 0]);
  });

  it("take less memory at once", async () => {
    const { model, set } = tiny;
    const settings = lossSettingsOf(cheapConfig({ beta: 0 }), 0, 1, 15, 4);
    const peak = async (rows: number): Promise<number> => {
      let out: Record<string, Tensor> = {};
      const profile = await tf.profile(async () => {
        const weights = weightsView(model.frozen, set, 2);
        const result = await gradientsOf([1, -1, 0.5, -0.5, 0], null, weights, settings, 1, rows);
        out = { ...result.gradients };
        return [];
      });
      tf.dispose(Object.values(out));
      return profile.peakBytes;
    };
    expect(await peak(1)).toBeLessThan(await peak(0));
  });
});

it.each([
  ["grpo", grpoParity, undefined, 500],
  // Losses of these that "grpo" lacks; tests/golden/grpo.test.ts compares all losses of both on the CPU.
  ["trl", grpoParity, ["02_off_policy_clip.json", "13_soft_gates.json"], 200],
  ["optim", optimParity, undefined, 500],
] as const)("the golden numbers of %s hold on the device", async (name, parity, files, least) => {
  expect(tf.getBackend()).toBe("webgpu");
  const folder = await nodeFolder(fileURLToPath(new URL(`../golden/${name}/`, import.meta.url)));
  const before = tf.memory().numTensors;
  const rows: ParityRow[] = [];
  const some = { paths: files ?? folder.paths, get: (path: string) => folder.get(path) };
  for await (const row of parity(some)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBeGreaterThan(least);
  expect(tf.memory().numTensors).toBe(before);
});
