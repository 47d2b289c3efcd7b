import { type ReactNode, useMemo } from "react";
import type { LabConfig } from "../../../../engine/config/table.ts";
import type { GroupRecord, RolloutRecord } from "../../../../engine/runs/rollouts/records.ts";
import { signed } from "../../../styles/format.ts";
import { advantageText, effectText } from "./advantage-text.ts";
import styles from "./reward.module.css";

/**
 * How a rollout's advantage was computed: 0.870 − 0.398 = +0.472, ÷ 0.502 (batch) = +0.94. @param groups of its loop
 * and step
 */
export function AdvantageFormula(props: {
  readonly rollout: RolloutRecord;
  readonly groups: readonly GroupRecord[];
  readonly config: LabConfig;
}): ReactNode {
  const { rollout, groups, config } = props;
  const own = useMemo(() => advantageText(rollout, groups, config), [rollout, groups, config]);
  if (own === null) return null;
  return (
    <section className={styles.detail} data-testid="advantage-formula">
      <h3>Advantage</h3>
      {own.zeroSpread ? (
        <p className={`muted ${styles.formula}`}>All rewards of the group are equal: no advantage</p>
      ) : (
        <p className={`muted ${styles.formula}`}>
          {own.text} = <b>{signed(rollout.advantage, 3)}</b>
        </p>
      )}
      {rollout.actions.length > 0 && <p className="muted">{effectText(rollout, config)}</p>}
    </section>
  );
}
