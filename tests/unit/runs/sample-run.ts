import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import type { PhaseCost } from "../../../src/engine/runs/phase-lines.ts";
import type { ActionRecord, GroupRecord, LoopId, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";

export function manifest(id = "brave-otter", change: Partial<RunManifest> = {}): RunManifest {
  return {
    format: "sa2va-lab-run/1",
    id,
    title: "Brave otter",
    created: "2026-03-04T05:06:07.000Z",
    version: "0.1.0",
    config: defaultConfig(),
    model: { name: "pocket", hash: "ab", parameters: 1000, trainableParameters: 100, template: "qwen_chat" },
    data: { name: "shapes", rows: 10, trainRows: 9, heldOutRows: 1, hash: "cd" },
    adapter: { vendor: "v", architecture: "a", description: "d", software: true },
    state: "running",
    ...change,
  };
}

function action(id: number, change: Partial<ActionRecord> = {}): ActionRecord {
  return {
    label: `tok ${id}`,
    id,
    logp: -0.1 - id,
    samplingLogp: -0.1 - id - 1e-12,
    refLogp: -1 / 3,
    ratio: 1 + 1e-12,
    kl: 0.01,
    entropy: Math.PI,
    clipped: id % 2 === 1,
    ...change,
  };
}

function rollout(step: number, loop: LoopId, group: number, index: number): RolloutRecord {
  const mask = { size: [4, 6] as const, counts: "5220007" };
  const caption = index === 0 ? "" : `ein „rotes“ Dreieck\n😀 ${index}`;
  return {
    id: `${step}-${loop}-${group}-${index}`,
    step,
    loop,
    group,
    index,
    rowId: `a/b.arrow#${group}`,
    imageId: "f00",
    prompt: "<image> What is it?",
    completion: caption,
    caption,
    referenceCaption: "a red triangle",
    captionPrime: loop === 2 ? "" : null,
    givenMask: mask,
    predictedMask: index === 0 ? null : mask,
    greedyMask: loop === 2 ? mask : null,
    reward: index === 0 ? null : index === 1 ? Number.NaN : 0.1 * index,
    terms:
      loop === 1
        ? [{ name: "iou", value: 0.1 + 0.2, weight: 1, iou: { intersection: 3, union: 10 } }]
        : [
            {
              name: "meteor",
              value: index === 0 ? null : 0.25,
              weight: 1,
              note: "NaN",
              meteor: {
                hypothesis: ["a"],
                reference: ["a"],
                matches: [[0, 0, "exact"]],
                chunks: 1,
                precision: 1,
                recall: 1,
                fMean: Number.NaN,
                penalty: 0.5,
                score: Number.NEGATIVE_INFINITY,
              },
            },
            { name: "judge", value: Number.NaN, weight: 0.5 },
          ],
    advantage: -1.0000000000000002,
    actions:
      index === 0
        ? []
        : [
            action(1),
            action(2, { refLogp: null, kl: null }),
            action(3, { logp: Number.NEGATIVE_INFINITY, ratio: Number.NaN }),
          ],
    truncated: index === 2,
  };
}

export function group(step: number, loop: LoopId, number: number, size = 3): GroupRecord {
  return {
    step,
    loop,
    group: number,
    rowId: `a/b.arrow#${number}`,
    rewardMean: number === 0 ? Number.NaN : 0.3,
    rewardStd: 0.1,
    zeroSpread: number === 1,
    // As imported rollouts, the second group has none.
    ...(number === 1 ? {} : { promptIds: [1, ...new Array<number>(49).fill(7), 2, 7, 7, 3] }),
    ...(number === 1 || loop === 1 ? {} : { answerIds: [4, 5] }),
    rollouts: Array.from({ length: size }, (_, index) => rollout(step, loop, number, index)),
  };
}

/** What one phase of a step asked of the GPU. */
export const cost: PhaseCost = {
  seconds: 0.25,
  gpuSeconds: null,
  dispatches: 12,
  submits: 2,
  readBacks: 1,
  readBytes: 64,
  writtenBytes: 640,
  buffers: 3,
  bufferBytes: 4096,
  programs: 5,
  peakBytes: 5000,
};
