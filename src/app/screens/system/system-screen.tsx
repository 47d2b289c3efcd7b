import { type ReactNode, useState } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { saveJson } from "../../clients/save-blob.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Segmented } from "../../components/ui/controls.tsx";
import { CopyText } from "../../components/ui/panel/copy-text.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { clearLog, useLog } from "../../stores/log.ts";
import { useRun } from "../../stores/run/run.ts";
import { useSelfTest } from "../../stores/self-test.ts";
import { useSession } from "../../stores/session.ts";
import { formatBytes, formatCount, formatSeconds, percent } from "../../styles/format.ts";
import { AdapterPanel } from "./adapter-panel.tsx";
import { phaseRows } from "./medians.ts";
import { MemoryPanel } from "./memory-panel.tsx";
import { browserName, PagePanel } from "./page-panel.tsx";
import { PhasesPanel } from "./phases-panel.tsx";
import { SelfTestPanel } from "./self-test-panel.tsx";
import styles from "./system.module.css";
import { type PageFacts, usePageFacts, useSystemReport } from "./use-system.ts";

const SHOWN = { all: "All", bad: "Warnings and errors" } as const;

/** What happened in this browser, newest first. */
function LogPanel(): ReactNode {
  const lines = useLog((log) => log.lines);
  const [shown, setShown] = useState<keyof typeof SHOWN>("all");
  const listed = lines.filter(({ level }) => shown === "all" || level !== "info").toReversed();
  return (
    <Panel
      title="Log"
      aside={
        <div className="row wrap gap-2">
          <Segmented label="Lines" options={SHOWN} value={shown} onChange={setShown} />
          <Button kind="quiet" disabled={lines.length === 0} onClick={clearLog}>
            Clear
          </Button>
        </div>
      }
    >
      {listed.length === 0 && <p className="muted">{shown === "all" ? "Nothing yet" : "No warnings and no errors"}</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
      <ol className={`grid gap-1 m-0 p-0 no-bullets scroll ${styles.log}`} data-testid="log" tabIndex={0}>
        {listed.map(({ at, level, text }, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added and may be equal
          <li key={`${at} ${lines.length - place}`} className="grid gap-3" data-level={level}>
            <time className="muted nowrap" dateTime={new Date(at).toISOString()}>
              {timeText(at)}
            </time>
            <span className="anywhere">{text}</span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function timeText(at: number): string {
  return new Date(at).toLocaleString("en-GB", {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  });
}

/** The adapter, the GPU costs of a step phase by phase, and memory by owner. */
export default function SystemScreen(): ReactNode {
  const report = useSystemReport();
  const page = usePageFacts();
  return (
    <div className="screen" data-testid="screen-system">
      <header className="flex wrap gap-2-3 align-baseline between">
        <h1>System</h1>
        <CopyReport report={report} page={page} />
      </header>
      <Figures report={report} />
      <PhasesPanel />
      <div className={`grid gap-3 align-start ${styles.columns}`}>
        <div className={`grid gap-3 min-0 ${styles.column}`}>
          <MemoryPanel report={report} />
          <LogPanel />
        </div>
        <div className={`grid gap-3 min-0 ${styles.column}`}>
          <SelfTestPanel />
          <PluginPanels at="system" given={{}} />
          <AdapterPanel rate={report?.rate ?? null} />
          <PagePanel facts={page} />
        </div>
      </div>
    </div>
  );
}

/** The five numbers to look at first. */
function Figures({ report }: { readonly report: SystemReport | null }): ReactNode {
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

/** The contents of this screen as JSON, for a bug report: sizes and counts, no data, no settings, no keys. */
function CopyReport(props: { readonly report: SystemReport | null; readonly page: PageFacts }): ReactNode {
  return (
    <span className="row wrap gap-2">
      <CopyText
        kind="quiet"
        title="Copies adapter, storage, costs and memory as JSON, without data or keys"
        label="Copy report"
        text={() => JSON.stringify(reportOf(props.report, props.page), null, 2)}
      />
      <Button
        title="Saves the report and the log as JSON; the log names runs and files"
        onClick={() =>
          saveJson(
            { ...reportOf(props.report, props.page), log: useLog.getState().lines },
            "sa2va-lab-diagnostics.json",
          )
        }
      >
        Download diagnostics
      </Button>
    </span>
  );
}

function reportOf(report: SystemReport | null, { usage, quota, persisted }: PageFacts): object {
  const { gpu, gpuError, model } = useSession.getState();
  const rows = phaseRows(useRun.getState().costs);
  return {
    browser: browserName(),
    isolated: globalThis.crossOriginIsolated,
    threads: navigator.hardwareConcurrency,
    storage: { usage, quota, persisted },
    gpu,
    gpuError: gpuError?.message ?? null,
    rate: report?.rate ?? null,
    model: model === null ? null : { family: model.family, parameters: model.parameters, storage: model.storage },
    selfTest: useSelfTest.getState().checks,
    memory: report?.memory ?? null,
    steps: useRun.getState().costs.length,
    phases: rows === null ? null : { ...Object.fromEntries(rows.phases), "whole step": rows.total },
  };
}
