import { type ReactNode, useMemo } from "react";
import type { LabConfig } from "../../../engine/config/table.ts";
import { whatIf } from "../../../engine/rl/step/what-if.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/records.ts";
import { fixed, signed } from "../../styles/format.ts";
import styles from "./reward.module.css";

/** Largest difference between a recomputed and a stored advantage, relative to 1. */
const SAME = 1e-6;

/** How a rollout's advantage came about: 0.870 − 0.398 = +0.472, ÷ 0.502 (batch) = +0.94. @param groups of its loop and step */
export function AdvantageFormula(props: {
  readonly rollout: RolloutRecord;
  readonly groups: readonly GroupRecord[];
  readonly config: LabConfig;
}): ReactNode {
  const { rollout, groups, config } = props;
  const scores = useMemo(() => scoresOf(groups, config), [groups, config]);
  const own = scores?.[groups.findIndex(({ group }) => group === rollout.group)];
  const advantage = own?.advantages[rollout.index];
  const { reward } = rollout;
  // A run of another version, or with parts normalised one by one, has another formula.
  const known = advantage !== undefined && Math.abs(advantage - rollout.advantage) <= SAME;
  if (own === undefined || !known || reward === null || config.rewardAggregation !== "sum_then_normalize") return null;
  const { scaleRewards, advantageEps, advantageBaseline } = config;
  const centred =
    advantageBaseline === "leave-one-out" ? (reward - own.mean) * leaveOneOut(own.present) : reward - own.mean;
  return (
    <section className={styles.detail} data-testid="advantage-formula">
      <h3>Advantage</h3>
      {own.zeroSpread ? (
        <p className={`muted ${styles.formula}`}>All rewards of the group are equal: no advantage, nothing to learn</p>
      ) : (
        <p className={`muted ${styles.formula}`}>
          {fixed(reward, 3)} − {fixed(own.mean, 3)} (group) = {signed(centred, 3)}
          {scaleRewards !== "none" && ` ÷ ${fixed(own.stdUsed + advantageEps, 3)} (${scaleRewards})`} ={" "}
          <b>{signed(rollout.advantage, 3)}</b>
        </p>
      )}
      {rollout.advantage !== 0 && rollout.actions.length > 0 && (
        <p className="muted">
          {rollout.advantage > 0 ? "Raises" : "Lowers"} the probability of its {rollout.actions.length}{" "}
          {rollout.actions.length === 1 ? "action" : "actions"}
        </p>
      )}
    </section>
  );
}

/** Mean of the other rewards in place of the mean of all. */
const leaveOneOut = (present: number): number => present / (present - 1);

/** Null where the record does not suffice: then there is no formula to show. */
function scoresOf(groups: readonly GroupRecord[], config: LabConfig) {
  try {
    return whatIf(groups, config).scores;
  } catch {
    // The What if tab says what is missing.
    return null;
  }
}
