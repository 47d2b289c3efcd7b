/**
 * Whole runs against recorded ones: texts, masks and rewards exactly, other numbers closely. They were recorded on llvmpipe,
 * smallest and largest values of several groups on SwiftShader;
 * on another adapter rounding may move a pixel after the first update, so only what precedes it is compared there.
 * `LAB_SAME_STEPS=exact` compares every bit (on the machine that recorded), `LAB_SAME_STEPS=write` records anew.
 */
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { EVAL_METRICS, REWARD_METRICS, readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import type { GroupRecord, StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { useGpu } from "../support/gpu.ts";
import { openTestLab, POCKET, repeatable, type TestLab } from "../support/session.ts";

const MODE = process.env.LAB_SAME_STEPS;
// Recorded with vectors as wide as the processor's, which round differently from the narrow ones of the other files.
delete process.env.LP_NATIVE_VECTOR_WIDTH;
const BEFORE_UPDATE = /^(step 1 |group 1-|eval 0 |1-)/;
/**
 * Relative to the larger of 1 and the recorded number: rounding differs between processors, more so after an update.
 */
function toleranceOf(name: string): number {
  if (!recorder && name.endsWith("grad_cosine")) return 2e-2; // a small product of two large gradients
  return BEFORE_UPDATE.test(name) ? 2e-4 : 5e-3;
}
const compared = (name: string): boolean => recorder || MODE === "exact" || BEFORE_UPDATE.test(name);

const CASES = {
  demo: { steps: 3, promptsPerStep: 2, numGenerations: 3, maxCompletionLength: 6, evalSteps: 3, evalRows: 4 },
  passes: {
    steps: 2,
    promptsPerStep: 1,
    accumulation: 2,
    numGenerations: 4,
    microRollouts: 3,
    numIterations: 2,
    maskPolicy: "candidates",
    maskAnchor: "truth",
    reference: "ema",
    beta: 0.1,
    advantageBaseline: "leave-one-out",
    // Unlike the demo: several reward terms, scaled over the batch.
    loop1Meteor: 0.5,
    loop1RepetitionCost: 0.3,
    scaleRewards: "batch",
    learningRate: 6e-4,
    lrSchedulerType: "cosine",
  },
  light: { steps: 2, beta: 0, maskPolicy: "embedding", maskAnchor: "none", loraDropout: 0.1, shuffleRewards: true },
} as const satisfies Record<string, Partial<LabConfig>>;
type Case = keyof typeof CASES;

interface Recorded {
  readonly groups: readonly { readonly id: string; readonly text: string; readonly rewards: readonly unknown[] }[];
  readonly numbers: Readonly<Record<string, number | null>>;
}

let lab: TestLab;
/** Whether this is the adapter that the runs were recorded on. */
let recorder = false;
beforeAll(async () => {
  lab = await openTestLab({ model: POCKET });
  recorder = /llvmpipe/i.test((await useGpu()).report.description);
});

const sha = (value: unknown): string => createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);

/** Everything sampled or answered: prompts, texts, masks and the actions' names. */
function textOf({ rowId, promptIds, answerIds, rollouts }: GroupRecord): string {
  return sha([
    rowId,
    promptIds,
    answerIds,
    rollouts.map((rollout) => [
      [rollout.id, rollout.imageId, rollout.prompt, rollout.completion, rollout.caption, rollout.referenceCaption],
      [rollout.captionPrime, rollout.givenMask, rollout.predictedMask, rollout.greedyMask, rollout.truncated],
      rollout.actions.map(({ label, id, clipped }) => [label, id, clipped]),
    ]),
  ]);
}

function groupNumbers({ step, loop, group, rollouts, ...rest }: GroupRecord): [string, number | null][] {
  const name = `group ${step}-${loop}-${group}`;
  const mean = (of: (action: GroupRecord["rollouts"][number]["actions"][number]) => number | null): number => {
    const values = rollouts.flatMap(({ actions }) => actions.flatMap((action) => of(action) ?? []));
    return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  };
  return [
    [`${name} mean`, rest.rewardMean],
    [`${name} std`, rest.rewardStd],
    ...rollouts.map(({ advantage, index }): [string, number] => [`${name} advantage ${index}`, advantage]),
    ...rollouts.flatMap(({ terms, index }) =>
      terms.map((term): [string, number | null] => [`${name} ${term.name} × ${term.weight} ${index}`, term.value]),
    ),
    ...(["logp", "samplingLogp", "refLogp", "ratio", "kl", "entropy"] as const).map((field): [string, number] => [
      `${name} ${field}`,
      mean((action) => action[field]),
    ]),
  ];
}

async function record(changes: Partial<LabConfig>): Promise<Recorded> {
  const from = lab.events.length;
  const run = await lab.start(changes);
  await run.done;
  const groups = lab.events.slice(from).flatMap((event) => (event.type === "group" ? [event.group] : []));
  const metrics = (await lab.metrics(run.manifest.id)).flatMap((row: StepMetrics) =>
    Object.entries(repeatable(row))
      .filter(([name]) => !name.startsWith("memory/"))
      .map(([name, value]): [string, number] => [`step ${row.step} ${name}`, value]),
  );
  const evaluations = (await readEvaluations(lab.store, run.manifest.id)).flatMap(({ report, rows }) =>
    rows.flatMap((row): [string, number | null][] => [
      ...EVAL_METRICS.map((name): [string, number] => [`eval ${report.step} ${row.rowId} ${name}`, row[name]]),
      ...REWARD_METRICS.map((name): [string, number | null] => {
        return [`eval ${report.step} ${row.rowId} ${name}`, row.rewards?.[name] ?? null];
      }),
    ]),
  );
  return {
    groups: groups.map((group) => ({
      id: `${group.step}-${group.loop}-${group.group}`,
      text: textOf(group),
      rewards: group.rollouts.map(({ reward }) => reward),
    })),
    numbers: Object.fromEntries([...groups.flatMap(groupNumbers), ...metrics, ...evaluations]),
  };
}

it.each(Object.keys(CASES) as Case[])("a run repeats what is recorded: %s", async (name) => {
  const path = join(root, "tests", "fixtures", "steps", `${name}.json`);
  const found = JSON.parse(JSON.stringify(await record(CASES[name]))) as Recorded;
  if (MODE === "write") await writeFile(path, `${JSON.stringify(found, null, 1)}\n`);
  const recorded = JSON.parse(await readFile(path, "utf8")) as Recorded;
  const texts = ({ groups }: Recorded) => groups.map(({ id, text }) => (compared(id) ? [id, text] : [id]));
  expect(texts(found)).toEqual(texts(recorded));
  const rewards = ({ groups }: Recorded) =>
    groups.flatMap(({ id, rewards }) => rewards.map((value, at) => [`group ${id} reward ${at}`, value] as const));
  const foundRewards = new Map<string, unknown>(rewards(found));
  const pairs = [
    ...rewards(recorded).map(([key, value]) => [key, value, foundRewards.get(key)] as const),
    ...Object.entries(recorded.numbers).map(([key, value]) => [key, value, found.numbers[key]] as const),
  ].filter(([key]) => compared(key));
  expect(pairs.length).toBeGreaterThan(20);
  // New metrics have no recorded numbers.
  const apart = pairs.filter(([name, a, b]) =>
    MODE !== "exact" && typeof a === "number" && typeof b === "number"
      ? !(Math.abs(a - b) <= toleranceOf(name) * Math.max(1, Math.abs(a)))
      : a !== b,
  );
  expect(apart).toEqual([]);
});
