import { type ReactNode, useEffect } from "react";
import { report } from "../../app/clients/lab.ts";
import { useDeviceBlocker } from "../../app/clients/run/blockers.ts";
import { Badge, Button, FileButton } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { type Job, stopJob, useJob } from "../../app/stores/jobs.ts";
import { useRun } from "../../app/stores/run/run.ts";
import { useSession } from "../../app/stores/session.ts";
import { counted, formatShare } from "../../app/styles/format.ts";
import type { TuningEntry } from "../../engine/tuning/table.ts";
import { exportTable, importTable, refreshTuning, TUNING, type Tuning, tune, useTuningReport } from "./tuning.ts";

/** Measures on request which form of products and attention is fastest, for the shapes computed so far. */
export default function TuningPanel(): ReactNode {
  const job = useJob(TUNING);
  const { report: found } = useTuningReport();
  const ready = useSession((session) => session.gpu !== null && session.gpuError === null);
  const loading = useSession((session) => session.modelProgress !== null);
  const state = useRun((run) => run.state);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run or a model brings shapes and a table
  useEffect(() => {
    if (ready) report(refreshTuning());
  }, [ready, loading, state]);
  const entries = found?.table.entries ?? [];
  const missing = found?.missing ?? 0;
  const busy = useDeviceBlocker();
  const nothing =
    missing + entries.length === 0
      ? "Train a step or try the model first; tuning measures the shapes that were used"
      : null;
  return (
    <Panel
      title="Kernel forms"
      aside={
        <span className="inline-flex gap-2 align-centre">
          {(job?.state === "stopped" || job?.state === "failed") && <Badge tone="warn">Stopped</Badge>}
          {job?.state === "running" ? (
            <Button data-testid="tune-cancel" onClick={() => stopJob(TUNING)}>
              Cancel
            </Button>
          ) : (
            <Button data-testid="tune" blocker={busy ?? nothing} onClick={() => report(tune(missing === 0))}>
              {missing === 0 && entries.length > 0 ? "Tune again" : "Tune"}
            </Button>
          )}
        </span>
      }
    >
      <div className="row wrap gap-2-3 mb-3">
        <Button blocker={entries.length === 0 ? "Nothing has been measured" : null} onClick={exportTable}>
          Export
        </Button>
        <FileButton
          label="Tuning table"
          accept=".json,application/json"
          testId="tuning-file"
          onFile={(file) => report(importTable(file))}
        >
          Import
        </FileButton>
      </div>
      <p role="status" className="muted">
        {statusOf(job, missing)}
      </p>
      {entries.length > 0 && <Entries entries={entries} peak={found?.table.peak ?? null} />}
    </Panel>
  );
}

function statusOf(job: Job<Tuning, void> | null, missing: number): string {
  if (job?.state === "running") {
    const { done, total, bucket } = job.progress;
    return total === 0 ? "Starting" : `${done + 1} of ${total}: ${bucket}`;
  }
  if (missing > 0)
    return `${counted(missing, "shape")} without a measurement: the built-in forms for this class of adapter apply`;
  return "New runs use the fastest form of each shape and keep this table; a form changes only if another is faster";
}

function Entries({
  entries,
  peak,
}: {
  readonly entries: readonly TuningEntry[];
  readonly peak: number | null;
}): ReactNode {
  return (
    <div className="scroll-x" data-testid="tuning-entries">
      <table className="full-width">
        <TableHead
          columns={[
            { label: "Shape", title: "Layout, epilogue, storage, and sizes as powers of two" },
            "Form",
            { label: "Built-in", title: "Time relative to the form used before tuning" },
            { label: "Stock", title: "Time relative to stock TensorFlow.js" },
            { label: "Share of peak", title: "Share of the measured peak rate of multiply-adds" },
          ]}
        />
        <tbody>
          {entries.map(({ bucket, form, ratio, stock, rate }) => (
            <tr key={bucket}>
              <th scope="row">{bucket}</th>
              <td>{form}</td>
              <td>{ratio.toFixed(2)}</td>
              <td>{stock === null ? "none" : stock.toFixed(2)}</td>
              <td>{peak === null || peak === 0 ? "not measured" : formatShare(rate / peak)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
