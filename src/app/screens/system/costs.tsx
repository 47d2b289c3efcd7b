import { type ReactNode, useMemo } from "react";
import type { Phase } from "../../../engine/rl/run/events.ts";
import type { PhaseCost, StepCosts } from "../../../engine/runs/phase-lines.ts";
import { lab } from "../../clients/lab.ts";
import { titleOf, useViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Badge } from "../../components/ui/badge.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { useAsync } from "../../components/use-async.ts";
import { PHASE_NAMES } from "../../stores/run/phase-names.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { formatBytes, formatCount, formatSeconds } from "../../styles/format.ts";
import { type PhaseRow, phaseRows } from "./medians.ts";
import styles from "./system.module.css";

const COLUMNS: readonly {
  readonly key: keyof PhaseCost;
  readonly label: string;
  readonly help: string;
  readonly format: (value: number | null) => string;
}[] = [
  { key: "seconds", label: "Time", help: "Wall time, including waits", format: formatSeconds },
  {
    key: "gpuSeconds",
    label: "On the GPU",
    help: "GPU time from timestamps of every compute pass",
    format: formatSeconds,
  },
  { key: "dispatches", label: "Dispatches", help: "Compute dispatches", format: formatCount },
  { key: "submits", label: "Submits", help: "Command buffers submitted to the queue", format: formatCount },
  {
    key: "readBacks",
    label: "Read-backs",
    help: "Buffers mapped for reading; each may wait for the GPU",
    format: formatCount,
  },
  { key: "readBytes", label: "Read", help: "Bytes read from the GPU", format: formatBytes },
  { key: "writtenBytes", label: "Written", help: "Bytes written to the GPU", format: formatBytes },
  {
    key: "buffers",
    label: "New buffers",
    help: "Buffers that were created, not reused from the pool",
    format: formatCount,
  },
  { key: "bufferBytes", label: "New buffer bytes", help: "Size of the new buffers", format: formatBytes },
  {
    key: "programs",
    label: "New programs",
    help: "New compute pipelines; most are created in the first steps",
    format: formatCount,
  },
  {
    key: "peakBytes",
    label: "Peak memory",
    help: "Maximum total size of all GPU buffers, including destroyed ones that the GPU still uses",
    format: formatBytes,
  },
];

const NO_COSTS: readonly StepCosts[] = [];

/**
 * GPU costs of every phase: the last step, and below it the median over the run. Costs of a stored run come from its
 * folder.
 */
export function CostsPanel(): ReactNode {
  const arrived = useRun((run) => run.costs);
  const viewed = useViewedRun();
  const other = viewed === null || viewed.live ? null : viewed;
  const stored = useAsync(other?.runId ?? null, (id) => lab().data.costs(id));
  const costs = other === null ? arrived : (stored.value ?? NO_COSTS);
  const active = useRun((run) => isActive(run.state));
  const now = useRun((run) => (run.state === "running" || run.state === "pausing" ? run.phase : null));
  const rows = useMemo(() => phaseRows(costs), [costs]);
  const timed = useSession((session) => session.gpu === null || session.gpu.features.includes("timestamp-query"));
  if (rows === null) {
    return (
      <Panel title="Phases of a step">
        <p className="muted">
          {other !== null
            ? (stored.problem ?? (stored.loading ? "Reading…" : "This run has no costs"))
            : active
              ? "The first step is running; its GPU costs appear here when it ends"
              : "Time, dispatches, submits, read-backs and new buffers of every phase appear here after the first step of a run"}
        </p>
      </Panel>
    );
  }
  const order = (Object.keys(PHASE_NAMES) as Phase[]).filter((phase) => rows.phases.has(phase));
  const longest = Math.max(...order.map((phase) => rows.phases.get(phase)?.seconds.last ?? 0));
  const median = costs.length === 1 ? "" : `, below it the median of ${costs.length} steps`;
  return (
    <Panel
      title="Phases of a step"
      aside={
        <span className="muted">
          {other !== null && `${titleOf(other)}, ${other.manifest?.adapter.description ?? ""} · `}
          Step {costs.at(-1)?.step}
          {median}
        </span>
      }
    >
      {/* Wide content scrolls in a region that the keyboard must reach. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region */}
      <section className="relative scroll-x" tabIndex={0} aria-label="Costs of the phases">
        <table className={`full-width ${styles.table}`} data-testid="phase-costs">
          <TableHead columns={["Phase", ...COLUMNS.map(({ label, help }) => ({ label, title: help }))]} />
          <tbody>
            {order.map((phase) => (
              <PhaseLine
                key={phase}
                phase={phase}
                row={rows.phases.get(phase) as PhaseRow}
                longest={longest}
                medians={costs.length > 1}
                now={other === null && now === phase}
              />
            ))}
          </tbody>
          <tfoot>
            <tr className={`${styles.sum} ${styles.bold}`}>
              <th scope="row" className={styles.name}>
                Whole step
              </th>
              <Cells row={rows.total} medians={costs.length > 1} />
            </tr>
          </tfoot>
        </table>
      </section>
      {!timed && (
        <p className="mt-2 muted small">This adapter has no timestamp queries, so time on the GPU is not measured</p>
      )}
    </Panel>
  );
}

function PhaseLine(props: {
  readonly phase: Phase;
  readonly row: PhaseRow;
  readonly longest: number;
  readonly medians: boolean;
  readonly now: boolean;
}): ReactNode {
  const { phase, row, longest, medians, now } = props;
  const share = (value: number | null): string => `${longest > 0 ? (100 * (value ?? 0)) / longest : 0}%`;
  return (
    <tr>
      <th scope="row" className={styles.name}>
        {PHASE_NAMES[phase]} {now && <Badge tone="accent">now</Badge>}
        <span className={`block relative ${styles.share}`} aria-hidden="true">
          <i data-fill style={{ width: share(row.seconds.last) }} />
          <b data-fill style={{ width: share(Math.min(row.gpuSeconds.last ?? 0, row.seconds.last ?? 0)) }} />
        </span>
      </th>
      <Cells row={row} medians={medians} />
    </tr>
  );
}

function Cells({ row, medians }: { readonly row: PhaseRow; readonly medians: boolean }): ReactNode {
  return COLUMNS.map(({ key, format }) => (
    <td key={key} className={row[key].last === 0 ? styles.zero : undefined}>
      {format(row[key].last)}
      {medians && (
        <small className="block muted tiny">
          <span className="visually-hidden">median </span>
          {format(row[key].median)}
        </small>
      )}
    </td>
  ));
}
