import { type ReactNode, useMemo } from "react";
import type { BenchGroup } from "../../../engine/runs/bench/bench-group.ts";
import { diagnose, type TermFinding } from "../../../engine/runs/bench/diagnosis.ts";
import { fixed, percent } from "../../styles/format.ts";
import styles from "./bench.module.css";
import { measureName } from "./bench-view.ts";

/** What to expect of training on this reward, with the numbers behind it. */
export function BenchDiagnosis({ groups }: { readonly groups: readonly BenchGroup[] }): ReactNode {
  const { terms, headroom, expectation } = useMemo(() => diagnose(groups), [groups]);
  const known = terms.filter(({ withIou }) => withIou !== null);
  return (
    <div className={styles.section} data-testid="bench-diagnosis">
      <p role="status">{expectation}</p>
      {known.length > 0 && (
        <p>Correlation with IoU inside groups (95 % interval): {known.map(findingText).join(", ")}.</p>
      )}
      {headroom !== null && (
        <p>
          Greedy masks: IoU {fixed(headroom.iou, 2)}, reward {fixed(headroom.greedy, 2)}. True masks: reward{" "}
          {fixed(headroom.truth, 2)}. In {percent(headroom.alike)} of {headroom.groups} groups both masks cover the same
          visual tokens.
        </p>
      )}
    </div>
  );
}

function findingText({ measure, withIou, low, high }: TermFinding): string {
  const interval = low === null || high === null ? "" : ` (${fixed(low, 2)} to ${fixed(high, 2)})`;
  return `${measureName(measure)} ${fixed(withIou ?? 0, 2)}${interval}`;
}
