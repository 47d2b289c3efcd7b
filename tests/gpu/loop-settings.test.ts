/** Metrics and records report the settings with which a loop's loss was computed. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { rleArea } from "../../src/engine/data/mask/rle.ts";
import type { LossGroup } from "../../src/engine/rl/step/group.ts";
import { STEP_LISTENERS } from "../../src/engine/rl/step/listeners.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { cheapConfig, checkpointFiles, openTestLab, POCKET, repeatable, type TestLab } from "../support/session.ts";

let lab: TestLab;
/** A model whose words and masks depend on its input. */
let trained: TestLab;
beforeAll(async () => {
  lab = await openTestLab();
  trained = await openTestLab({ model: POCKET });
});

/** Large steps on captions, so that the policy after the first update is far from the one that sampled. */
const FAST = {
  loops: "1",
  numGenerations: 4,
  learningRate: 0.02,
  maxGradNorm: 0,
} as const satisfies Partial<LabConfig>;

async function train(changes: Partial<LabConfig>, by = lab): Promise<readonly StepMetrics[]> {
  by.events.length = 0;
  return await by.train(changes);
}

const clippedActions = (step: number): number =>
  lab.events
    .flatMap((event) => (event.type === "group" && event.group.step === step ? event.group.rollouts : []))
    .flatMap(({ actions }) => actions)
    .filter(({ clipped }) => clipped).length;

describe("ratios", () => {
  it("are those against the reference with the notes' formula", async () => {
    const [first, ...later] = await train({ ...FAST, steps: 4, objective: "notes" });
    expect(first?.["loop1/ratio/mean"]).toBeCloseTo(1, 5);
    const clips = later.map((row) => row["loop1/clip_ratio/region_mean"] as number);
    expect(Math.max(...clips)).toBeGreaterThan(0);
    // Metrics and records agree on whether anything was clipped.
    expect(later.map((row) => clippedActions(row.step as number) > 0)).toEqual(clips.map((share) => share > 0));
    for (const row of later) expect(row["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
  });

  it("are those of all passes over a batch", async () => {
    const [row] = await train({ ...FAST, steps: 1, numIterations: 3 });
    expect(row?.["loop1/clip_ratio/region_mean"]).toBeGreaterThan(0);
    expect(row?.["loop1/ratio/max"]).toBeGreaterThan(1.2);
    expect(row?.["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
  });
});

describe("groups without an advantage", () => {
  /** No caption is long enough to cost anything, so all rewards are equal. */
  const EQUAL = { loop2Meteor: 0, loop2Judge: 0, loop2RepetitionCost: 0, loop2LengthCost: 1 } as const;

  it("move nothing while the policy has its reference's weights", async () => {
    const settings = {
      ...EQUAL,
      loops: "2",
      beta: 0.04,
      numGenerations: 4,
      learningRate: 0.02,
      warmupSteps: 0,
    } as const;
    const rows = await train({ ...settings, steps: 4 }, trained);
    expect(rows.map((row) => row["loop2/zero_std_groups"] ?? row["loop2/frac_reward_zero_std"])).toEqual([1, 1, 1, 1]);
    expect(rows.map((row) => [row.grad_norm, row["ema/distance"]])).toEqual(Array(4).fill([0, 0]));
  });
});

describe("likelihoods of the row's caption", () => {
  it("are rewards of both loops, in training and on held-out rows", async () => {
    const weights = {
      loop1Iou: 0,
      loop1Meteor: 0,
      loop1RepetitionCost: 0,
      loop1Contrast: 1,
      loop2Meteor: 0,
      loop2Judge: 0,
      loop2Likelihood: 1,
    } as const;
    const settings = {
      ...weights,
      loops: "both",
      likelihoodJudge: "start",
      numGenerations: 3,
      maskPolicy: "field",
    } as const;
    const [row = {}] = await train({ ...settings, steps: 1, evalSteps: 1, evalRows: 2, heldOutShare: 0.2 }, trained);
    for (const [loop, term] of [
      [1, "contrast"],
      [2, "likelihood"],
    ] as const) {
      expect(row[`loop${loop}/reward`]).toBeCloseTo(row[`loop${loop}/rewards/${term}/mean`] as number, 9);
      expect(row[`loop${loop}/reward`]).toBeGreaterThan(0);
      expect(row[`loop${loop}/reward_max`]).toBeLessThan(1);
      expect(row[`loop${loop}/reward_std`]).toBeGreaterThan(0);
    }
    const evaluations = trained.events.flatMap((event) => (event.type === "eval" ? [event.report] : []));
    const scores = evaluations.at(-1)?.reward?.scores;
    for (const score of [scores?.reward1_sampled, scores?.reward2_greedy]) expect(score?.mean).toBeGreaterThan(0);
  });
});

describe("sampled answers", () => {
  const settings = { maskPolicy: "answer", loops: "2", loop2Reach: "all", maskAnchor: "none" } as const;
  const drawn = { numGenerations: 6, promptsPerStep: 2, temperature: 1.5, maxCompletionLength: 8, beta: 0.01 } as const;
  const rewards = { loop2Meteor: 0.5, loop2Judge: 0, loop2Form: 0.5, learningRate: 1e-3 } as const;
  const rolloutsOf = () =>
    trained.events
      .flatMap((event) => (event.type === "group" ? event.group.rollouts : []))
      .map((rollout) => {
        return { ...rollout, form: rollout.terms.find(({ name }) => name === "form")?.value };
      });

  it("train text and masks by one log-probability, which both passes compute alike", async () => {
    const rows = await train({ ...settings, ...drawn, ...rewards, steps: 2 }, trained);
    for (const row of rows) {
      expect(row["loop2/logp_train_vs_sampling/max"]).toBeLessThan(1e-3);
      expect(row["loop2/ratio/max"]).toBeCloseTo(1, 3);
      for (const block of ["seg-prompt", "mask-decoder", "projector", "lora"]) {
        expect(row[`grad_norm/${block}`] ?? 0, block).toBeGreaterThan(0);
      }
    }
    const rollouts = rolloutsOf();
    expect(new Set(rollouts.map(({ completion }) => completion)).size).toBeGreaterThan(6);
    for (const { completion, form, actions, predictedMask } of rollouts) {
      // The pocket model answers with a description, so [SEG] is appended to it.
      expect(completion.endsWith("[SEG]")).toBe(true);
      expect(actions.at(-1)?.label).toBe("[SEG]");
      expect(actions.length).toBeLessThanOrEqual(9);
      expect(form).toBeLessThan(1);
      expect(predictedMask).not.toBeNull();
    }
    const again = await train({ ...settings, ...drawn, ...rewards, steps: 1 }, trained);
    expect(again[0]?.["loop2/reward"]).toBe(rows[0]?.["loop2/reward"]);
  });

  it("have no mask without [SEG] where none is appended", async () => {
    await train({ ...settings, ...drawn, ...rewards, appendSegment: false, steps: 1 }, trained);
    const without = rolloutsOf().filter(({ completion }) => !completion.includes("[SEG]"));
    expect(without.length).toBeGreaterThan(0);
    for (const { predictedMask } of without) expect(predictedMask === null || rleArea(predictedMask) === 0).toBe(true);
  });
});

it("several captions of a mask earn their mean, listed in the term's remark", async () => {
  const proposals = { maskPolicy: "proposals", proposalPhrases: true } as const;
  await train(
    { ...proposals, loops: "2", steps: 1, numGenerations: 3, partnerTemperature: 3, partnerSamples: 3 },
    trained,
  );
  const rollouts = trained.events.flatMap((event) => (event.type === "group" ? event.group.rollouts : []));
  const meteors = rollouts.flatMap(({ terms, reward, captionPrime }) =>
    terms.flatMap((term) => (term.name === "meteor" ? [{ ...term, reward, captionPrime }] : [])),
  );
  const several = meteors.filter(({ note }) => note?.startsWith("mean over 3 captions′"));
  expect(several.length).toBeGreaterThan(0);
  for (const { note = "", value, captionPrime, reward } of several) {
    const each = [...note.matchAll(/“(.*?)” (\d\.\d+)/g)].map(([, text = "", own]) => ({ text, own: Number(own) }));
    expect(each).toHaveLength(3);
    expect(each[0]?.text).toBe(captionPrime);
    expect(each.reduce((sum, { own }) => sum + own, 0) / 3).toBeCloseTo(value as number, 2);
    expect(reward).toBeCloseTo(value as number, 9);
  }
});

describe("masks without a policy gradient", () => {
  it("learn from the likelihood of captions in every pass over the rollouts", async () => {
    // The partner shares its tensors with the start until its first update.
    const passes = { numIterations: 2, steps: 2, warmupSteps: 0 };
    const rows = await train({ loops: "2", maskPolicy: "pathwise", maskAnchor: "none", ...passes });
    expect(rows).toHaveLength(2);
    for (const row of rows) expect(row["loop2/pathwise_loss"]).toBeGreaterThan(0);
  });

  it("imitate more masks than a program can bind", async () => {
    const [row] = await train({ steps: 1, loops: "2", maskPolicy: "imitation", numGenerations: 16 });
    expect(row?.["loop2/imitation_loss"]).toBeGreaterThan(0);
  });
});

describe("an option of the loss", () => {
  /** Steps whose second pass is off-policy, so that options of ratios have an effect. */
  const SEEN = { ...FAST, steps: 1, numIterations: 2, beta: 0.2, klClamp: false } as const;
  const SLOWER = { learningRate: 0.002 } as const;
  const outcome = async (changes: Partial<LabConfig>): Promise<string> => {
    const rows = await train({ ...SEEN, ...changes });
    return JSON.stringify(rows.map((row) => [row.grad_norm, row["loop1/loss"], row["ema/distance"]]));
  };
  /** Results with which those of several options are compared. */
  const known = new Map<string, Promise<string>>();
  const start = (settings: Partial<LabConfig>): Promise<string> => {
    const key = JSON.stringify(settings);
    const found = known.get(key) ?? outcome(settings);
    known.set(key, found);
    return found;
  };

  it.each<[string, Partial<LabConfig>, Partial<LabConfig>]>([
    ["entropyCoef", {}, { entropyCoef: 0.5 }],
    ["topEntropyQuantile", {}, { topEntropyQuantile: 0.2 }],
    ["offPolicyMaskThreshold", {}, { offPolicyMaskThreshold: 1e-6 }],
    ["useBiasCorrectionKl", {}, { useBiasCorrectionKl: true }],
    ["epsilonHigh of cispo", { lossType: "cispo", epsilonHigh: 5 }, { lossType: "cispo", epsilonHigh: 0.5 }],
    ["sapoTemperaturePos", { lossType: "sapo" }, { lossType: "sapo", sapoTemperaturePos: 5 }],
    ["sapoTemperatureNeg", { lossType: "sapo" }, { lossType: "sapo", sapoTemperatureNeg: 5 }],
    // Where ratios are large, k has no weight.
    ["vespoKPos", { ...SLOWER, lossType: "vespo" }, { ...SLOWER, lossType: "vespo", vespoKPos: 5 }],
    ["vespoLambdaPos", { lossType: "vespo" }, { lossType: "vespo", vespoLambdaPos: 0.5 }],
    ["vespoKNeg", { lossType: "vespo" }, { lossType: "vespo", vespoKNeg: 0.5 }],
    ["vespoLambdaNeg", { lossType: "vespo" }, { lossType: "vespo", vespoLambdaNeg: 5 }],
    ["advantageBaseline", {}, { advantageBaseline: "leave-one-out", scaleRewards: "none" }],
    [
      "multiObjectiveAggregation",
      { loop1Meteor: 1 },
      { loop1Meteor: 1, multiObjectiveAggregation: "normalize_then_sum" },
    ],
  ])("%s changes the update", async (_, before, after) => {
    const unchanged = await start(before);
    expect(await outcome(after)).not.toBe(unchanged);
  });
});

describe("several updates on one set of rollouts", () => {
  it("sample for all of them, and are off-policy after the first", async () => {
    const alone = { ...FAST, steps: 1, accumulation: 2, promptsPerStep: 1 } as const;
    const [one] = await train(alone);
    const [row] = await train({ ...alone, stepsPerGeneration: 6 });
    const groups = lab.events.filter((event) => event.type === "group");
    expect(groups).toHaveLength(6);
    expect(row?.epoch).toBeCloseTo(3 * (one?.epoch as number), 12);
    const rewards = groups.flatMap(({ group }) => group.rollouts.map(({ reward }) => reward as number));
    const mean = rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
    const squares = rewards.reduce((sum, reward) => sum + (reward - mean) ** 2, 0);
    expect(squares).toBeGreaterThan(0);
    // Over all rollouts of the step, not a mean over its updates.
    expect(row?.["loop1/reward_std"]).toBeCloseTo(Math.sqrt(squares / (rewards.length - 1)), 9);
    expect(row?.["loop1/ratio/max"]).toBeGreaterThan(1.01);
    expect(row?.["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
    await expect(lab.start({ accumulation: 4, stepsPerGeneration: 6 })).rejects.toThrow(
      /stepsPerGeneration 6 is neither a multiple nor a divisor of accumulation 4/,
    );
  });

  it("divide by what sampled in every pass, also where another update came first", async () => {
    const groups: LossGroup[] = [];
    STEP_LISTENERS.push(() => ({
      on(event) {
        if (event.type === "loss") groups.push(...event.groups);
        return undefined;
      },
    }));
    try {
      await train({ ...FAST, steps: 1, accumulation: 1, stepsPerGeneration: 2, numIterations: 2 });
    } finally {
      STEP_LISTENERS.pop();
    }
    // The weights that sampled are those of the first update alone.
    expect(groups.map(({ oldLogps }) => oldLogps === null)).toEqual([true, false, false, false]);
    for (const { mask, samplingLogps, oldLogps } of groups.slice(1)) {
      const gaps = [...mask].map((m, at) => m * Math.abs((oldLogps?.[at] ?? 0) - (samplingLogps[at] as number)));
      expect(Math.max(...gaps)).toBeLessThan(1e-4);
    }
  });
});

describe("LoRA dropout", () => {
  const DROPPED = { ...FAST, steps: 1, maxGradNorm: 0, learningRate: 1e-3, loraDropout: 0.3 } as const;
  const captions = (): string[] =>
    lab.events.flatMap((event) => (event.type === "group" ? event.group.rollouts.map((one) => one.completion) : []));
  /** Adapters start with a branch of 0, so dropout has an effect from the second step on. */
  const last = async (changes: Partial<LabConfig>): Promise<StepMetrics> => {
    const rows = await train({ ...DROPPED, steps: 2, ...changes });
    return rows[1] as StepMetrics;
  };

  it("acts where it trains, and leaves sampling and reference alone", async () => {
    const [plain] = await train({ ...DROPPED, loraDropout: 0 });
    const drawn = captions();
    const [row] = await train(DROPPED);
    expect(captions()).toEqual(drawn);
    expect(row?.grad_norm).not.toBe(plain?.grad_norm);
    const later = await last({ beta: 0.1 });
    expect(later["loop1/ratio/min"]).toBe(1);
    expect(later["loop1/ratio/max"]).toBe(1);
    expect(later).not.toHaveProperty("loop1/logp_train_vs_sampling/max");
  });

  it("has the same masks in a recomputed block and in every run", async () => {
    const once = await last({});
    expect(repeatable(await last({}))).toEqual(repeatable(once));
    expect((await last({ gradientCheckpointing: true })).grad_norm).toBeCloseTo(once.grad_norm as number, 4);
    expect((await last({ seed: 9 })).grad_norm).not.toBe(once.grad_norm);
  });
});

describe("LoRA dropout of an adapter that does something", () => {
  beforeAll(async () => {
    const run = await lab.start({ ...FAST, steps: 1, saveSteps: 1 });
    await run.done;
    const files = await checkpointFiles(lab.store, run.manifest.id, 1);
    await lab.session.openAdapter(
      memoryFolder(Object.fromEntries(files) as Record<string, Uint8Array<ArrayBuffer>>),
      "moved",
    );
  });
  afterAll(() => lab.session.closeAdapter());

  it.each([
    { numIterations: 2 },
    { stepsPerGeneration: 2 },
    { numIterations: 2, microRollouts: 1 },
    { stepsPerGeneration: 2, microRollouts: 1 },
    { numIterations: 2, promptsPerStep: 2, groupsAtOnce: 2, gradientReport: 1 },
  ])("has the same masks in every pass of a step: %j", async (changes) => {
    const still = { ...FAST, steps: 1, learningRate: 0, ...changes };
    // At a rate of 0 all passes have the same weights, so their ratios are 1.
    const [row] = await train({ ...still, loraDropout: 0.3 });
    expect(row?.["loop1/ratio/max"]).toBeCloseTo(1, 5);
    expect(row?.["loop1/ratio/min"]).toBeCloseTo(1, 5);
    const [plain] = await train(still);
    expect(plain?.grad_norm).not.toBeCloseTo(row?.grad_norm as number, 2);
  });
});

describe("the gradients of two loops", () => {
  const BOTH = { steps: 1, loops: "both", maxGradNorm: 1e-3, maskPolicy: "field", loop2Iou: 1 } as const;

  it("are clipped one by one or together, and compared", async () => {
    const [apart] = await train({ ...BOTH, clipScope: "loop" });
    const [joint] = await train({ ...BOTH, clipScope: "sum" });
    for (const row of [apart, joint]) {
      const [one, two] = [row?.["loop1/grad_norm"] as number, row?.["loop2/grad_norm"] as number];
      const cosine = row?.grad_cosine as number;
      expect(Math.abs(cosine)).toBeLessThanOrEqual(1);
      expect(row?.grad_norm).toBeCloseTo(Math.sqrt(one ** 2 + two ** 2 + 2 * cosine * one * two), 4);
      expect(row?.grad_norm_clipped).toBe(1);
    }
    expect(apart?.grad_cosine).toBeCloseTo(joint?.grad_cosine as number, 3);
    expect(apart?.grad_norm).toBeCloseTo(joint?.grad_norm as number, 4);
    expect(apart?.["loop1/clip_factor"]).toBeLessThan(0.5);
    for (const loop of [1, 2]) {
      const norm = apart?.[`loop${loop}/grad_norm`] as number;
      expect(apart?.[`loop${loop}/clip_factor`]).toBeCloseTo(Math.min(1, 1e-3 / (norm + 1e-6)), 9);
      expect(joint?.[`loop${loop}/clip_factor`]).toBe(1);
    }
  });
});

describe("the gradient report", () => {
  it("finds one term's gradient to be the loop's, two to sum to it, and the penalty once weights have moved", async () => {
    const ONE = {
      steps: 2,
      loops: "1",
      numGenerations: 4,
      promptsPerStep: 3,
      gradientReport: 2,
      clipScope: "sum",
      learningRate: 0.002,
      loop1Iou: 1,
      loop1Meteor: 0,
      loop1RepetitionCost: 0,
    } as const;
    const [first, second] = await train({ ...ONE, beta: 0 });
    expect(first?.["loop1/grad_snr"]).toBeGreaterThan(0);
    expect(first?.grad_norm).toBeGreaterThan(0);
    expect((first?.["loop1/term_grad_norm/iou"] as number) / (first?.grad_norm as number)).toBeCloseTo(1, 4);
    // One term, one loop, one step: the update is its own, and it descends.
    expect(first?.["loop1/update_share/iou"]).toBeCloseTo(1, 3);
    expect(first?.["loop1/update_cosine/iou"]).toBeGreaterThan(0.1);
    for (const name of ["grad_snr", "update_share/iou", "term_grad_norm/meteor", "term_grad_norm/penalty"]) {
      expect(second, name).not.toHaveProperty(`loop1/${name}`);
    }

    const rows = await train({ ...ONE, gradientReport: 1, beta: 0.5, loop1Meteor: 1 });
    const norms = rows.map((row) => {
      const own = (name: string): number => row[`loop1/term_grad_norm/${name}`] as number;
      return { iou: own("iou"), meteor: own("meteor"), penalty: own("penalty"), whole: row.grad_norm as number };
    });
    // The reference is the start: no penalty before the first update.
    expect(norms[0]?.penalty).toBeLessThan(1e-4 * (norms[0]?.whole as number));
    expect(norms[1]?.penalty).toBeGreaterThan(1e-2 * (norms[1]?.whole as number));
    const shares = rows.map((row) => {
      const own = (name: string): number => row[`loop1/update_share/${name}`] as number;
      return { terms: own("iou") + own("meteor") + own("penalty"), earlier: row["update_share/earlier"] as number };
    });
    // No moments before the first step: its update is that of its own terms, however it was clipped.
    expect(shares[0]?.earlier).toBeCloseTo(0, 3);
    expect(shares[0]?.terms).toBeCloseTo(1, 3);
    expect(Math.abs(shares[1]?.earlier as number)).toBeGreaterThan(0.02);
    for (const row of rows) {
      for (const term of ["iou", "meteor", "penalty"]) {
        expect(Math.abs(row[`loop1/update_cosine/${term}`] as number)).toBeLessThanOrEqual(1);
      }
    }
    for (const { iou, meteor, penalty, whole } of norms) {
      expect(iou).toBeGreaterThan(0);
      expect(meteor).toBeGreaterThan(0);
      expect(whole).toBeLessThanOrEqual((iou + meteor + penalty) * 1.0001);
      expect(whole).toBeGreaterThanOrEqual(Math.abs(iou - meteor) * 0.9999 - penalty);
    }
  });
});

describe("a loss of fixed length", () => {
  // Every cell of a field counts, so the mean over a row is its sum over T: the two losses are one.
  const FIELD = { steps: 1, loops: "2", maskPolicy: "field", numGenerations: 3, entropyCoef: 0, beta: 0 } as const;
  const ANCHORED = { maskAnchor: "none", loop2Iou: 1, promptsPerStep: 2 } as const;

  it.each([0, 1])("divides loop 2 by the cells of its mask policy, %i groups at once", async (groupsAtOnce) => {
    const norm = async (lossType: LabConfig["lossType"]): Promise<number> => {
      const [row] = await train({ ...FIELD, ...ANCHORED, groupsAtOnce, lossType });
      return row?.grad_norm as number;
    };
    const mean = await norm("grpo");
    expect(mean).toBeGreaterThan(1e-6);
    expect((await norm("dr_grpo")) / mean).toBeCloseTo(1, 5);
  });
});

describe("settings that no step can be taken with", () => {
  it("are told by the plan and refused at the start, with no run left", async () => {
    const before = await lab.store.list("");
    const plan = await lab.session.plan(cheapConfig({ delta: 0.5 }));
    expect(plan.problems).toEqual([
      { setting: "delta", sentence: "Loss setting delta must be above 1, or 0 for none; no loss was computed." },
    ]);
    await expect(lab.start({ delta: 0.5 })).rejects.toThrow(/delta must be above 1/);
    expect(await lab.store.list("")).toEqual(before);
  });
});
