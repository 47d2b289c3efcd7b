/** What the inspector computes or reads only when asked: other settings, other thresholds, the same row over time, the record. */
import { type ReactNode, useMemo } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { groupKey } from "../../app/components/rollout/use-viewed-run.ts";
import { CopyText } from "../../app/components/ui/button.tsx";
import { Tabs } from "../../app/components/ui/tabs.tsx";
import type { RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { RowHistory } from "./history.tsx";
import { CloserLook, ReplayStep } from "./recompute-panel.tsx";
import styles from "./rollout-tools.module.css";
import { WhatIfPanel } from "./what-if-form.tsx";

export default function More(props: Places["rollout"]): ReactNode {
  const { run, rollout, group, loopGroups, config } = props;
  return (
    <Tabs
      label="More about this rollout"
      tabs={[
        {
          id: "what-if",
          label: "What if",
          content: (
            <WhatIfPanel key={`${group.step} ${groupKey(group)}`} group={group} groups={loopGroups} config={config} />
          ),
        },
        {
          id: "recompute",
          label: "Recompute",
          content: (
            <div className="grid gap-4">
              <CloserLook key={rollout.id} run={run} rollout={rollout} />
              <ReplayStep key={group.step} run={run} step={group.step} />
            </div>
          ),
        },
        { id: "history", label: "History", content: <RowHistory run={run} group={group} /> },
        { id: "raw", label: "Raw", content: <Raw rollout={rollout} /> },
      ]}
    />
  );
}

function Raw({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  const text = useMemo(() => JSON.stringify(rollout, null, 2), [rollout]);
  return (
    <div className={styles.raw}>
      <CopyText kind="small" label="Copy" aria-label="Copy the record as JSON" text={() => text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
      <pre className="p-3 round-m surface-2 anywhere" tabIndex={0}>
        {text.length > 200_000 ? `${text.slice(0, 200_000)}\n…` : text}
      </pre>
    </div>
  );
}
