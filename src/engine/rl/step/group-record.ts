/** Converts a trained group to the record that screens, run folder and exports share. */
import { crc32 } from "../../bytes/hash.ts";
import { clipFact } from "../../data/clips/row-frames.ts";
import type { ActionRecord, GroupRecord, RolloutRecord } from "../../runs/rollouts/records.ts";
import type { GroupScores } from "../objective/advantages.ts";
import type { DrawnGroup, Group } from "./group.ts";
import { clipFlags, type MeasuredLoss } from "./metrics/loss-metrics.ts";

/** A group before it is scored: its advantages are 0, its mean and standard deviation NaN. */
export function drawnGroup(step: number, group: DrawnGroup): GroupRecord {
  const scores = { advantages: group.rollouts.map(() => 0), mean: Number.NaN, std: Number.NaN, zeroSpread: false };
  return { ...recordOf(step, group, scores, () => []), unfinished: true };
}

/** A group with advantages but without log-probabilities: its rollouts have no actions yet. */
export function scoredGroup(step: number, group: Group, scores: GroupScores): GroupRecord {
  return recordOf(step, group, scores, () => []);
}

/** @param measured results of the first pass, whose log-probabilities belong to the weights before the update */
export function groupRecord(step: number, { group, readback, settings, data, loss }: MeasuredLoss): GroupRecord {
  const { refLogps } = group;
  const clipped = clipFlags(loss, data, settings);
  const record = recordOf(step, group, group.scores, (index) =>
    (group.labels[index] ?? []).map((action, t): ActionRecord => {
      const at = index * group.actions + t;
      return {
        label: action.label,
        id: action.id,
        logp: readback.logps[at] as number,
        oldLogp: group.samplingLogps[at] as number,
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
  scores: Omit<GroupScores, "present" | "stdUsed">,
  actionsOf: (rollout: number) => readonly ActionRecord[],
): GroupRecord {
  const { loop, row, promptIds, answerIds } = group;
  const rollouts = group.rollouts.map((rollout, index): RolloutRecord => {
    const id = `${step}-${loop}-${group.group}-${index}`;
    return {
      ...rollout,
      ...clipFact(row),
      id,
      step,
      loop,
      group: group.group,
      index,
      advantage: scores.advantages[index] as number,
      actions: actionsOf(index),
    };
  });
  return {
    step,
    loop,
    group: group.group,
    rowId: row.summary.id,
    rewardMean: scores.mean,
    rewardStd: scores.std,
    zeroSpread: scores.zeroSpread,
    promptIds,
    ...(answerIds === undefined ? {} : { answerIds }),
    rollouts,
  };
}
