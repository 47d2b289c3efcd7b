/** The phases of a recorded step, with the numbers of one of its rollouts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { shownStep } from "../../../src/app/components/rollout/time-line.tsx";
import { phaseBeforeGroups } from "../../../src/app/screens/train/inspector.tsx";
import { MASK_POLICIES } from "../../../src/engine/config/groups/mask.ts";
import type { Phase, RunState } from "../../../src/engine/rl/run/events.ts";
import { parseManifest } from "../../../src/engine/runs/manifest.ts";
import type { GroupRecord, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { groupsFromArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { advantageText, effectText } from "../../../src/plugins/phases/advantage-text.ts";
import { lessonOf } from "../../../src/plugins/phases/lesson.ts";
import { phaseShares } from "../../../src/plugins/phases/phase-bar.tsx";
import { whatIf } from "../../../src/plugins/rollout-tools/what-if.ts";

const RECORDED = join(root, "public/pocket/recorded");
const folder = join(RECORDED, readdirSync(RECORDED).find((name) => name !== "files.json") ?? "");
const STEP = 25;
const read = parseManifest(JSON.parse(readFileSync(join(folder, "run.json"), "utf8")));
if ("problem" in read) throw new Error(read.problem);
const { config } = read.manifest;
const groups = await groupsFromArrow(
  new Uint8Array(readFileSync(join(folder, "rollouts/step-000025.arrow"))),
  "step 25",
);
const logged = readFileSync(join(folder, "metrics.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Readonly<Record<string, number>>)
  .find(({ step }) => step === STEP);

const ofLoop = (loop: number): readonly GroupRecord[] => groups.filter((group) => group.loop === loop);
const metric = (name: string): number | null => logged?.[name] ?? null;
/** Formulas of the first rollout of a loop with an advantage, by phase. */
function lesson(loop: number, changed: { readonly actions?: []; readonly metric?: () => null } = {}) {
  const rollout = ofLoop(loop)
    .flatMap(({ rollouts }) => rollouts)
    .find(({ advantage }) => advantage !== 0);
  if (rollout === undefined) throw new Error("The recorded step has no advantage");
  const { actions = rollout.actions } = changed;
  const parts = lessonOf({ rollout: { ...rollout, actions }, groups: ofLoop(loop), config, metric, ...changed });
  return { rollout, parts, of: (phase: string) => parts.find((part) => part.phase === phase) };
}
/** Value of a formula's text, by this test's own arithmetic. */
const resultOf = (text: string): number =>
  Number(
    text
      .replaceAll("−", "-")
      .replaceAll("÷", "/")
      .split(/[+*/=]/)
      .at(-1),
  );
const numbers = (text: string): number[] =>
  [
    ...text
      .replaceAll("−", "-")
      .replaceAll(/([+-]) (?=\d)/g, "$1")
      .matchAll(/[+-]?\d+\.\d+/g),
  ].map(Number);

it("an advantage over the mean of the other rewards is written as such", () => {
  const left = { ...config, advantageBaseline: "leave-one-out" } as const;
  const { advantages } = whatIf(ofLoop(1), left);
  const own = ofLoop(1).map((group, at) => ({
    ...group,
    rollouts: group.rollouts.map((one, n) => ({ ...one, advantage: advantages[at]?.values[n] ?? Number.NaN })),
  }));
  for (const { rollouts, zeroSpread } of own) {
    if (zeroSpread) continue;
    for (const rollout of rollouts) {
      const others = rollouts.filter((one) => one !== rollout).map(({ reward }) => reward ?? Number.NaN);
      const mean = others.reduce((sum, reward) => sum + reward, 0) / others.length;
      const text = (advantageText(rollout, own, left)?.text ?? "").replace(" − ", " ; ");
      const [reward, subtracted] = numbers(text) as [number, number];
      expect(subtracted).toBeCloseTo(mean, 3);
      expect(reward).toBeCloseTo(rollout.reward ?? Number.NaN, 3);
      expect(text).toContain("(others)");
    }
  }
});

it("an advantage over a small spread is written with the digits that give it", () => {
  const [group] = ofLoop(1).filter(({ zeroSpread }) => !zeroSpread) as [GroupRecord];
  const rewarded = (one: RolloutRecord, n: number): RolloutRecord => {
    const reward = 1 / 6 + n * 2e-5;
    return { ...one, reward, terms: [{ name: "iou", value: reward, weight: 1 }] };
  };
  const close = [{ ...group, rollouts: group.rollouts.map(rewarded) }];
  const { values } = whatIf(close, config).advantages[0] as { readonly values: readonly number[] };
  const rollouts = (close[0] as GroupRecord).rollouts.map((one, n) => ({ ...one, advantage: values[n] as number }));
  const text = advantageText(rollouts[0] as RolloutRecord, [{ ...group, rollouts }], config)?.text ?? "";
  const [reward, mean, deviation, eps] = numbers(text.replace(" − ", " ; ")) as [number, number, number, number];
  expect(reward).toBeCloseTo(1 / 6, 4);
  expect((reward - mean) / (deviation + eps)).toBeCloseTo(values[0] as number, 2);
});

it("a rollout whose loop has no weight changes nothing, and says so", () => {
  const rollout = ofLoop(2)
    .flatMap(({ rollouts }) => rollouts)
    .find(({ advantage }) => advantage > 0) as RolloutRecord;
  const weighted = { ...config, loop2Weight: 0.1 };
  expect(effectText(rollout, weighted)).toMatch(/^Raises the probability of its \d+ actions$/);
  expect(effectText(rollout, { ...config, loop2Weight: 0 })).toBe("Loop 2 has weight 0, so this rollout has no effect");
  const none = { ...rollout, advantage: 0 };
  expect(effectText(none, weighted)).toBe("Only the KL penalty acts on this rollout");
  expect(effectText(none, { ...weighted, beta: 0 })).toBe("This rollout adds no policy gradient");
});

it("says of a rollout what its advantage does not do", () => {
  const [text, mask] = [1, 2].map((loop) => {
    const { rollouts } = ofLoop(loop).find(({ zeroSpread }) => !zeroSpread) as GroupRecord;
    return rollouts.find(({ advantage }) => advantage !== 0) as RolloutRecord;
  }) as [RolloutRecord, RolloutRecord];
  const cut = { ...text, truncated: true };
  expect(effectText(cut, config)).toMatch(/^(Raises|Lowers) the probability of its \d+ tokens?$/);
  expect(effectText(cut, { ...config, maskTruncatedCompletions: true })).toBe(
    "Truncated and masked, so this rollout has no effect",
  );
  expect(effectText(text, { ...config, topEntropyQuantile: 0.2 })).toMatch(
    /tokens?, only those among the 20 % most uncertain$/,
  );
  const effects = MASK_POLICIES.filter(({ effect }) => effect !== undefined);
  for (const { value, effect } of effects) {
    expect(effectText(mask, { ...config, loop2Weight: 1, maskPolicy: value })).toBe(effect);
  }
});

it("a step without an update has a lesson that says so", () => {
  const [group] = ofLoop(1);
  if (group === undefined) throw new Error("The recorded step has no group of loop 1");
  for (const norm of [null, Infinity]) {
    const skipped = (name: string) => (name === "learning_rate" ? 1e-4 : name.endsWith("grad_norm") ? norm : null);
    const parts = lessonOf({ rollout: group.rollouts[0] as RolloutRecord, groups: [group], config, metric: skipped });
    expect(parts.slice(-2).map(({ made }) => made)).toEqual([
      "The gradient is not finite: the update is skipped",
      "The partner stays as it is",
    ]);
  }
});

it("a lesson counts the rollouts of its group, which a mask policy may choose", () => {
  const [group] = ofLoop(2);
  if (group === undefined) throw new Error("The recorded step has no group of loop 2");
  const few = { ...group, rollouts: group.rollouts.slice(0, 3) };
  const [first] = lessonOf({ rollout: few.rollouts[0] as RolloutRecord, groups: [few], config, metric });
  expect(first?.formulas).toEqual(["G = 3 rollouts of this prompt"]);
});

describe.each([1, 2])("the phases of loop %i", (loop) => {
  const { rollout, parts, of } = lesson(loop);

  it("come in the order of the step", () => {
    const order = ["sample", "generate", "partner", "reward", "advantage", "loss", "update", "ema"];
    expect(parts.map(({ phase }) => phase)).toEqual(order);
    expect(parts.every(({ made }) => made !== null)).toBe(true);
  });

  it("add the terms up to the reward", () => {
    const values = numbers((of("reward")?.formulas[0] ?? "").split(" = ")[1] ?? "");
    const sum = values.reduce(
      (total, _, at) => (at % 2 === 0 ? total + (values[at] ?? 0) * (values[at + 1] ?? 0) : total),
      0,
    );
    expect(sum).toBeCloseTo(rollout.reward ?? Number.NaN, 2);
  });

  it("divide what is above the group's mean by the deviation and ε, with the digits that give the result", () => {
    const text = of("advantage")?.formulas[0] ?? "";
    const [reward, mean, deviation, eps, advantage] = numbers(text.replace(" − ", " ; ")) as [
      number,
      number,
      number,
      number,
      number,
    ];
    expect(reward).toBeCloseTo(rollout.reward ?? Number.NaN, 4);
    expect(text).toContain(`${config.advantageEps} (ε)`);
    expect(eps).toBe(config.advantageEps);
    // Each number inside is rounded to four decimals, the result to three.
    const rounding = 5e-5 * (2 + Math.abs(advantage)) + 5e-4 * deviation;
    expect(Math.abs(reward - mean - advantage * (deviation + eps))).toBeLessThan(rounding);
    expect(advantage).toBeCloseTo(rollout.advantage, 3);
  });

  it("have the log-probability of all actions and the logged loss", () => {
    const total = rollout.actions.reduce((sum, { samplingLogp }) => sum + samplingLogp, 0);
    expect(resultOf(of("generate")?.formulas[0] ?? "")).toBeCloseTo(total, 2);
    const line = of("loss")?.formulas.at(-1) ?? "";
    const [policy = Number.NaN, penalty = Number.NaN] = [
      ...line.replaceAll("−", "-").matchAll(/-?\d[\d.e-]*(?= )/g),
    ].map(([text]) => Number(text));
    expect(line).toMatch(new RegExp(`^Loop ${loop}: GRPO loss`));
    expect(policy).toBeCloseTo(metric(`loop${loop}/policy_loss`) ?? Number.NaN, 3);
    // Loop 2 has losses of its mask decoder besides.
    if (loop === 1) expect(policy + penalty).toBeCloseTo(metric("loop1/loss") ?? Number.NaN, 3);
  });

  it("clip the gradient by its norm", () => {
    const norm = metric(`loop${loop}/grad_norm`) ?? Number.NaN;
    const formula = of("update")?.formulas[0] ?? "";
    const factor = Math.min(1, config.maxGradNorm / norm);
    // Loop 2 is shown without an update.
    if (loop === 2) expect([norm, formula]).toEqual([0, "Loop 2: ‖g₂‖ = 0"]);
    else {
      expect(formula).toMatch(/^Loop 1: g₁ ← g₁ · min/);
      expect(resultOf(formula.replace("= g₁ ·", "="))).toBeCloseTo(factor, 2);
    }
    // One step of the weights for both.
    expect(of("update")?.formulas[1]).toMatch(/AdamW\(g₁ \+ g₂\)$/);
  });

  it("name no loop where the sum of the gradients is clipped", () => {
    const sum = { ...config, clipScope: "sum" as const };
    const of = lessonOf({ rollout, groups: ofLoop(loop), config: sum, metric }).find(({ phase }) => phase === "update");
    expect(of?.formulas[0]).toMatch(/^g ← g · min/);
    expect(of?.formulas[1]).toMatch(/AdamW\(g\)$/);
  });

  it("wait for what is not computed yet", () => {
    const early = lesson(loop, { actions: [], metric: () => null });
    const open = early.parts.filter(({ made }) => made === null).map(({ phase }) => phase);
    expect(open).toEqual(["loss", "update", "ema"]);
  });
});

describe("the step that is shown", () => {
  it("is the newest, or the nearest with rollouts at or before the one asked for", () => {
    const steps = [5, 10, 15];
    expect([null, 10, 12, 2, 99].map((asked) => shownStep(steps, asked))).toEqual([15, 10, 10, 5, 15]);
    expect(shownStep([], 3)).toBeNull();
  });
});

it("a rollout that has no reward yet is explained up to the phase before the pause", () => {
  for (const loop of [1, 2]) {
    const [group] = ofLoop(loop) as [GroupRecord];
    const rollout = { ...(group.rollouts[0] as RolloutRecord), reward: null, terms: [], advantage: 0, actions: [] };
    const parts = lessonOf({ rollout, groups: [group], config, metric, until: "reward" });
    const ran = parts.filter(({ made }) => made !== null).map(({ phase }) => phase);
    expect(ran).toEqual(["sample", "generate", "partner"]);
  }
});

it("a phase that has run, but is not logged yet, is not called open", () => {
  const rollout = ofLoop(1)[0]?.rollouts[0] as RolloutRecord;
  const open = (unlogged: Phase) =>
    lessonOf({ rollout, groups: ofLoop(1), config, metric: () => null, unlogged })
      .filter(({ made }) => made === null)
      .map(({ phase }) => phase);
  expect([open("update"), open("ema"), open("log")]).toEqual([["update", "ema"], ["ema"], []]);
});

it("a paused step without rollouts is explained by its phases, not by the step before", () => {
  const at = (
    phase: Phase,
    last: readonly GroupRecord[],
    step = STEP - 1,
    state: RunState = "paused",
    drawn: readonly GroupRecord[] = [],
  ) => phaseBeforeGroups({ state, nextPhase: { phase, loop: 1, midUpdate: false }, step, groups: last, drawn });
  expect(at("generate", [])).toBe("generate");
  expect(at("generate", groups, STEP)).toBe("generate");
  expect(at("generate", ofLoop(2))).toBe("generate");
  // Its own groups are there, as in a further round of dynamic sampling.
  expect(at("generate", groups)).toBeNull();
  expect(at("generate", [], STEP - 1, "paused", ofLoop(1))).toBeNull();
  // Between two steps the finished one is shown.
  expect([at("sample", groups, STEP), at("eval", groups, STEP)]).toEqual([null, null]);
  expect(at("generate", [], STEP, "running")).toBeNull();
});

it("an update at a learning rate of 0, as in the first step of a warm-up, says that the weights stay", () => {
  const parts = lessonOf({
    rollout: ofLoop(1)[0]?.rollouts[0] as RolloutRecord,
    groups: ofLoop(1),
    config,
    metric: (name) => (name === "learning_rate" ? 0 : metric(name)),
  });
  expect(parts.find(({ phase }) => phase === "update")?.made).toMatch(/^The learning rate is 0: .*the weights stay$/);
});

it("shares the time of a step in the order of its phases", () => {
  const shares = phaseShares({ update: 1, generate: 3, log: 0 });
  expect(shares.map(({ phase, share }) => [phase, share])).toEqual([
    ["generate", 0.75],
    ["update", 0.25],
  ]);
});
