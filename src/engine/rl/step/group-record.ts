/** A played group as the record that screens, run folder and exports share. */
import type { ActionRecord, GroupRecord, RolloutRecord } from "../../runs/records.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import { type LossReadback, learntAdvantages, type MeasuredGroup } from "./group-gradients.ts";
import { tokenDiagnostics } from "./loss-metrics.ts";

/** @param readback of the first pass, where log-probabilities belong to the weights that are about to be updated */
export function groupRecord(
  step: number,
  { playout, scores, refLogps, oldLogps }: MeasuredGroup,
  readback: LossReadback,
  settings: LossSettings,
): GroupRecord {
  const tokens = tokenDiagnostics(
    {
      rows: playout.rollouts,
      tokens: playout.actions,
      logps: readback.logps,
      oldLogps,
      refLogps,
      entropies: readback.entropies,
      mask: playout.mask,
      advantages: learntAdvantages(playout, scores.advantages),
    },
    settings,
  );
  const rollouts = playout.drafts.map((draft, index): RolloutRecord => {
    const actions = (playout.labels[index] ?? []).map((action, t): ActionRecord => {
      const at = index * playout.actions + t;
      return {
        label: action.label,
        id: action.id,
        logp: readback.logps[at] as number,
        oldLogp: playout.samplingLogps[at] as number,
        refLogp: refLogps === null ? null : (refLogps[at] as number),
        ratio: tokens.ratio[at] as number,
        kl: refLogps === null ? null : (tokens.kl[at] as number),
        entropy: readback.entropies[at] as number,
        clipped: tokens.clippedLow[at] === 1 || tokens.clippedHigh[at] === 1 || tokens.clippedDelta[at] === 1,
      };
    });
    return {
      ...draft,
      id: `${step}-${playout.loop}-${playout.group}-${index}`,
      step,
      loop: playout.loop,
      group: playout.group,
      index,
      advantage: scores.advantages[index] as number,
      actions,
    };
  });
  return {
    step,
    loop: playout.loop,
    group: playout.group,
    rowId: playout.row.summary.id,
    rewardMean: scores.mean,
    rewardStd: scores.std,
    zeroSpread: scores.zeroSpread,
    promptIds: playout.promptIds,
    ...(playout.answerIds === undefined ? {} : { answerIds: playout.answerIds }),
    rollouts,
  };
}
