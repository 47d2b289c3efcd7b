/**
 * What listens to a step: metrics, records, the entropy bonus and the gradient report. Only the entropy bonus changes
 * the next loss; each can be removed from the list.
 */
import { crc32 } from "../../bytes/hash.ts";
import { groupsPerStep } from "../../config/derived.ts";
import { stripFrames } from "../../data/training-row.ts";
import { LabError } from "../../errors.ts";
import type { ParameterSet } from "../../model/weights/weights.ts";
import type { ActionRecord, GroupRecord, LoopId, RolloutRecord } from "../../runs/rollouts/records.ts";
import type { GroupAdvantages } from "../objective/advantages.ts";
import { entropyControl, meanEntropy, nextEntropyState } from "../objective/entropy-control.ts";
import { inspectGradients } from "../optim/monitor.ts";
import { copySet, disposeSet } from "../optim/optimiser.ts";
import type { UpdateReport } from "../optim/training-state.ts";
import type { Run } from "../run/lab.ts";
import type { DrawnGroup, Group, LossGroup, LossReadback } from "./group.ts";
import { grpoStep } from "./grpo-step.ts";
import { gradientOfLoss } from "./loop-loss.ts";
import {
  gradientReportDue,
  signalToNoise,
  type TermGradient,
  termGradients,
  updateShares,
} from "./metrics/gradient-report.ts";
import { clipFlags, type MeasuredLoss, measuredLoss } from "./metrics/loss-metrics.ts";
import { judgeMetrics, sourceMetrics } from "./metrics/rollout-metrics.ts";
import { overPasses, passMetrics, sampledMetrics } from "./metrics/step-metrics.ts";
import type { Step } from "./step.ts";
import type { Metrics, StepListener, StepOutcome } from "./step-events.ts";

// Converts a trained group to the record that screens, run folder and exports share.

/** A group before it has rewards: its advantages are 0, its mean and standard deviation NaN. */
export function drawnGroup(step: number, group: DrawnGroup): GroupRecord {
  const none = { values: group.rollouts.map(() => 0), mean: Number.NaN, std: Number.NaN, zeroSpread: false };
  return { ...recordOf(step, group, none, () => []), unfinished: true };
}

/** A group with advantages but without log-probabilities: its rollouts have no actions yet. */
function advantageRecord(step: number, group: Group, advantages: GroupAdvantages): GroupRecord {
  return recordOf(step, group, advantages, () => []);
}

/** @param measured results of the first pass, whose log-probabilities belong to the weights before the update */
export function groupRecord(step: number, { group, readback, settings, data, loss }: MeasuredLoss): GroupRecord {
  const { refLogps } = group;
  const clipped = clipFlags(loss, data, settings);
  const record = recordOf(step, group, group.advantages, (index) =>
    (group.labels[index] ?? []).map((action, t): ActionRecord => {
      const at = index * group.actions + t;
      return {
        label: action.label,
        id: action.id,
        logp: readback.logps[at] as number,
        samplingLogp: group.samplingLogps[at] as number,
        refLogp: refLogps === null ? null : (refLogps[at] as number),
        ratio: loss.ratio[at] as number,
        kl: refLogps === null ? null : (loss.kl[at] as number),
        entropy: readback.entropies[at] as number,
        clipped: clipped.low[at] === 1 || clipped.high[at] === 1 || clipped.delta[at] === 1,
      };
    }),
  );
  // Decoders of JPEG differ: another program that repeats the step can tell by this.
  return { ...record, pixels: crc32(group.row.rgb.data).toString(16).padStart(8, "0") };
}

function recordOf(
  step: number,
  group: DrawnGroup,
  advantages: Omit<GroupAdvantages, "present" | "stdUsed">,
  actionsOf: (rollout: number) => readonly ActionRecord[],
): GroupRecord {
  const { loop, row, promptIds, answerIds } = group;
  const rollouts = group.rollouts.map((rollout, index): RolloutRecord => {
    const id = `${step}-${loop}-${group.group}-${index}`;
    return {
      ...rollout,
      ...stripFrames(row),
      id,
      step,
      loop,
      group: group.group,
      index,
      advantage: advantages.values[index] as number,
      actions: actionsOf(index),
    };
  });
  return {
    step,
    loop,
    group: group.group,
    rowId: row.summary.id,
    rewardMean: advantages.mean,
    rewardStd: advantages.std,
    zeroSpread: advantages.zeroSpread,
    promptIds,
    ...(answerIds === undefined ? {} : { answerIds }),
    rollouts,
  };
}

/** Makes a listener for one step. */
type MakeListener = (step: Step, run: Run) => StepListener;

/** Every listener of a GRPO step, in the order in which they are called. */
export const STEP_LISTENERS: MakeListener[] = [advantageGroups, sampledGroups, gradientReport, losses, entropyBonus];

/**
 * Runs a GRPO step with its listeners.
 * @throws LabError("cancelled") when stopped, leaving the state as it was before the step
 */
export async function observedStep(run: Run, step: Step): Promise<StepOutcome> {
  const listeners = STEP_LISTENERS.map((make) => make(step, run));
  const metrics: Record<string, number> = {};
  const passes = new Map<LoopId, Metrics[]>();
  const updates: UpdateReport[] = [];
  try {
    for await (const event of grpoStep(run, step)) {
      const found: Record<string, number> = {};
      for (const listener of listeners) Object.assign(found, await listener.on(event));
      if (event.type === "update") updates.push(event.report);
      if (event.type === "loopLoss") passes.set(event.loop.id, [...(passes.get(event.loop.id) ?? []), found]);
      else Object.assign(metrics, found);
    }
  } finally {
    for (const listener of listeners) listener.dispose?.();
  }
  for (const rows of passes.values()) Object.assign(metrics, overPasses(rows));
  const update = together(updates);
  return { metrics: { ...metrics, ...update.metrics }, update };
}

/** Combines the updates of a step: the numbers of the last one, and all non-finite elements of any. */
function together(updates: readonly UpdateReport[]): UpdateReport {
  const last = updates.at(-1);
  if (last === undefined) throw new LabError("internal", "A step made no pass over its rollouts");
  return {
    stepped: updates.every(({ stepped }) => stepped),
    metrics: last.metrics,
    nonFinite: [...new Set(updates.flatMap(({ nonFinite }) => nonFinite))],
    clip: last.clip,
  };
}

/** Records of groups with advantages, and their rewards by source. */
function advantageGroups({ config, number, emit }: Step, { order }: Run): StepListener {
  return {
    on(event) {
      if (event.type !== "advantages") return undefined;
      const { loop, groups, advantages } = event;
      for (const [at, group] of groups.entries()) {
        emit({ type: "drawn", group: advantageRecord(number, group, advantages[at] as GroupAdvantages) });
      }
      const later = groups.filter(({ group }) => group >= groupsPerStep(config)).length;
      return {
        ...sourceMetrics(loop, groups, advantages, order),
        ...(config.resampleRounds > 0 ? { [`loop${loop}/resampled_groups`]: later } : {}),
      };
    },
  };
}

/** Metrics of the rollouts and of the judge. */
function sampledGroups(): StepListener {
  return {
    on(event) {
      if (event.type !== "sampled") return undefined;
      const rollouts = event.loops.flatMap(({ sampled }) => sampled.flatMap((group) => group.rollouts));
      const metrics = event.loops.map(({ id, groups }) => sampledMetrics(id, groups));
      return Object.assign({}, ...metrics, judgeMetrics(rollouts.map(({ terms }) => terms)));
    },
  };
}

/** Losses of the updates, and the records of the groups in the first iteration. */
function losses({ config, number, emit }: Step): StepListener {
  let measured: MeasuredLoss[] = [];
  // On-policy, the shown ratios are relative to the sampling pass and measure how far the two passes differ. With dropout
  // they differ by design, so the ratios of the loss are shown.
  const shown = (group: LossGroup, { logps }: LossReadback): LossGroup => {
    return { ...group, oldLogps: group.oldLogps ?? (config.loraDropout > 0 ? logps : group.samplingLogps) };
  };
  return {
    on(event) {
      if (event.type === "loss") {
        for (const [at, group] of event.groups.entries()) {
          const readback = event.readbacks[at] as LossReadback;
          const loss = measuredLoss(shown(group, readback), readback, event.settings);
          measured.push(loss);
          if (event.update.iteration === 0) emit({ type: "group", group: groupRecord(number, loss) });
        }
      }
      if (event.type !== "loopLoss") return undefined;
      const metrics = passMetrics(event.loop.id, measured, event.update.index === 0 && config.loraDropout === 0);
      measured = [];
      return metrics;
    },
  };
}

/** Moves each loop's adaptive entropy bonus. It is part of the state with the update, so a stop before it changes none. */
function entropyBonus({ config }: Step, { state }: Run): StepListener {
  let next = state.entropy;
  return {
    on(event) {
      if (event.type === "update") state.entropy = next;
      if (event.type !== "loopLoss") return undefined;
      const { id } = event.loop;
      if (config.useAdaptiveEntropy) {
        const seen = event.groups.map(({ mask }, at) => ({ mask, entropies: event.readbacks[at]?.entropies ?? [] }));
        const entropy = meanEntropy(seen, config.topEntropyQuantile);
        next = { ...next, [id]: nextEntropyState(next[id], entropy, entropyControl(config)) };
      }
      const bonus = config.useAdaptiveEntropy ? next[id].coefficient : config.entropyCoef || null;
      return bonus === null ? undefined : { [`loop${id}/entropy_coef`]: bonus };
    },
  };
}

/**
 * In the first turn of steps that report their gradients: signal-to-noise, and every term's gradient norm and share of the
 * update.
 */
function gradientReport(step: Step, { state }: Run): StepListener {
  const { config, number } = step;
  const norm = async (of: Parameters<typeof inspectGradients>[0]) => (await inspectGradients(of, () => "all")).norm;
  let squares: number[] = [];
  let terms: TermGradient[] = [];
  let before: ParameterSet = {};
  const dispose = (): void => {
    for (const { sum } of terms) sum.dispose();
    disposeSet(before);
    [terms, before] = [[], {}];
  };
  return {
    dispose,
    async on(event) {
      if (!("update" in event) || event.update.index > 0 || !gradientReportDue(config, number)) return undefined;
      switch (event.type) {
        case "loss":
          squares.push((await norm(event.gradients)) ** 2);
          return undefined;
        case "loopLoss": {
          const { loop, groups, settings, readbacks, sum } = event;
          const ratio = signalToNoise(squares, await norm(sum));
          squares = [];
          const pass = { loop: loop.id, groups, settings, readbacks, config, step: number };
          terms.push(...(await termGradients(pass, (...changed) => gradientOfLoss(state, step, loop, ...changed))));
          return ratio === null ? undefined : { [`loop${loop.id}/grad_snr`]: ratio };
        }
        case "gradients": {
          const norms: Record<string, number> = {};
          for (const { loop, term, sum } of terms) norms[`loop${loop}/term_grad_norm/${term}`] = await norm(sum);
          before = copySet(state.params);
          return norms;
        }
        case "update": {
          const { report, loops } = event;
          const factor = (id: LoopId) => report.clip * (loops.find(({ loop }) => loop === id)?.factor ?? 1);
          const rate = report.metrics.learning_rate as number;
          const shares = report.stepped && terms.length > 0;
          const metrics = shares ? await updateShares({ before, state, terms, rate, factor }, config) : undefined;
          dispose();
          return metrics;
        }
      }
    },
  };
}
