import { type ReactNode, useMemo, useState } from "react";
import { Button } from "../../app/components/ui/button.tsx";
import { fixed, percent } from "../../app/styles/format.ts";
import styles from "./bench.module.css";
import { BenchCorrelation } from "./bench-correlation.tsx";
import type { BenchGroup } from "./bench-group.ts";
import { BenchGroups } from "./bench-groups.tsx";
import { BenchTerms } from "./bench-terms.tsx";
import { measureName, type Selection, selectedGroups, selectionName } from "./bench-view.ts";
import { diagnose, type TermFinding } from "./diagnosis.ts";
import { measuresOf, summarise } from "./statistics.ts";

/** Statistics of the reward over the groups of one loop; every number links to its rollouts. */
export function BenchFindings(props: { readonly groups: readonly BenchGroup[] }): ReactNode {
  const { groups } = props;
  const [selection, setSelection] = useState<Selection | null>(null);
  const measures = useMemo(() => measuresOf(groups), [groups]);
  const reward = useMemo(() => summarise(groups, "reward"), [groups]);
  const selected = useMemo(() => selectedGroups(groups, selection), [groups, selection]);
  return (
    <div className={`grid mt-3 ${styles.findings}`}>
      <dl className={`flex wrap ${styles.facts}`} data-testid="bench-facts">
        <Fact name="Mean reward" value={fixed(reward.mean, 3)} />
        <Fact name="Spread within a group" value={fixed(reward.withinStd, 3)} />
        <Fact
          name="Zero-advantage groups"
          value={percent(reward.flatShare)}
          warn={reward.flatShare > 0.5}
          onPress={() => setSelection({ kind: "flat", measure: "reward" })}
        />
        <Fact
          name="Missing rewards"
          value={`${reward.missing} of ${reward.missing + reward.count}`}
          warn={reward.missing > 0}
          onPress={() => setSelection({ kind: "missing", measure: "reward" })}
        />
        <Fact name="Groups" value={String(groups.length)} onPress={() => setSelection(null)} />
      </dl>
      <BenchDiagnosis groups={groups} />
      <BenchTerms groups={groups} measures={measures} selection={selection} onSelect={setSelection} />
      <BenchCorrelation groups={groups} measures={measures} selection={selection} onSelect={setSelection} />
      {selection !== null && (
        <p className={`row wrap gap-2 round-m ${styles.chosen}`} role="status" data-testid="bench-selection">
          <b>{selectionName(selection)}</b> · {selected.length} of {groups.length} groups
          <Button kind="quiet" onClick={() => setSelection(null)}>
            Show all
          </Button>
        </p>
      )}
      <BenchGroups groups={selected} selection={selection} />
    </div>
  );
}

function Fact(props: {
  readonly name: string;
  readonly value: string;
  readonly warn?: boolean;
  readonly onPress?: () => void;
}): ReactNode {
  const { name, value, warn = false, onPress } = props;
  return (
    <div data-warn={warn}>
      <dt>{name}</dt>
      <dd>
        {onPress === undefined ? (
          value
        ) : (
          <button type="button" className={`p-0 pointer clear borderless ${styles.number}`} onClick={onPress}>
            {value}
          </button>
        )}
      </dd>
    </div>
  );
}

/** What to expect of training on this reward, with the numbers behind it. */
function BenchDiagnosis({ groups }: { readonly groups: readonly BenchGroup[] }): ReactNode {
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
          Greedy {headroom.alike === null ? "captions" : "masks"}: IoU {fixed(headroom.iou, 2)}, reward{" "}
          {fixed(headroom.greedy, 2)}. {headroom.alike === null ? "Best sampled captions" : "True masks"}: reward{" "}
          {fixed(headroom.best, 2)}.
          {headroom.alike !== null &&
            ` In ${percent(headroom.alike)} of ${headroom.groups} groups both masks cover the same visual tokens.`}
        </p>
      )}
    </div>
  );
}

function findingText({ measure, withIou, low, high }: TermFinding): string {
  const interval = low === null || high === null ? "" : ` (${fixed(low, 2)} to ${fixed(high, 2)})`;
  return `${measureName(measure)} ${fixed(withIou ?? 0, 2)}${interval}`;
}
