import type { ReactNode } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { useRun } from "../../stores/run/run.ts";
import { formatBytes, formatCount, formatSeconds, percent } from "../../styles/format.ts";
import { phaseRows } from "./medians.ts";
import styles from "./system.module.css";

/** The five numbers to look at first. */
export function Figures({ report }: { readonly report: SystemReport | null }): ReactNode {
  const total = useRun((run) => run.costs).slice(-1);
  const step = phaseRows(total)?.total;
  const memory = report?.memory;
  const [wall, gpu] = [step?.seconds.last ?? null, step?.gpuSeconds.last ?? null];
  const busy = wall === null || gpu === null || wall === 0 ? null : Math.min(1, gpu / wall);
  const [dispatches, submits] = [step?.dispatches.last ?? null, step?.submits.last ?? null];
  const free = memory === undefined ? null : memory.gpuBytesAllocated - memory.gpuBytes;
  return (
    <dl className={`grid clip framed round-l ${styles.figures}`} data-testid="system-figures">
      <Figure
        name="GPU memory"
        value={formatBytes(memory?.gpuBytes)}
        more={free === null ? null : `${formatBytes(free)} free in the pool`}
      />
      <Figure
        name="Tensors"
        value={formatCount(memory?.tensors)}
        more={memory === undefined ? null : formatBytes(memory.bytes)}
      />
      <Figure
        name="Last step"
        value={formatSeconds(wall)}
        more={gpu === null ? null : `${formatSeconds(gpu)} on the GPU`}
      />
      <Figure name="GPU utilisation" value={percent(busy)} more={busy === null ? null : "of the last step"} />
      <Figure
        name="Dispatches per step"
        value={formatCount(dispatches)}
        more={submits === null ? null : `in ${formatCount(submits)} submits`}
      />
    </dl>
  );
}

function Figure(props: { readonly name: string; readonly value: string; readonly more: string | null }): ReactNode {
  return (
    <div className={`surface ${styles.figure}`}>
      <dt className="muted small">{props.name}</dt>
      <dd className="grid m-0">
        <b>{props.value}</b>
        <small className="muted small">{props.more}</small>
      </dd>
    </div>
  );
}
