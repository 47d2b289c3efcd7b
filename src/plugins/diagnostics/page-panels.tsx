import { type ReactNode, useCallback, useEffect, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { saveJson } from "../../app/clients/save-blob.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Badge, Button, CopyText } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { FactList } from "../../app/components/ui/table.tsx";
import { jobOf, SELF_TEST } from "../../app/stores/jobs.ts";
import { useRun } from "../../app/stores/run/run.ts";
import { useSession } from "../../app/stores/session.ts";
import { formatBytes, formatCount, NONE } from "../../app/styles/format.ts";
import type { SystemReport } from "../../engine/session/memory-report.ts";
import { clearLog, followLog, useLog } from "./log.ts";
import styles from "./page-panels.module.css";
import { StorageBar } from "./storage-meter.tsx";

/** Keeps the log from the start of the page. */
export function LogKeeper(): ReactNode {
  useEffect(() => followLog(Date.now), []);
  return null;
}

/** What happened in this browser, newest first. */
export function LogPanel(): ReactNode {
  const lines = useLog((log) => log.lines);
  return (
    <Panel
      title="Log"
      aside={
        <Button kind="quiet" disabled={lines.length === 0} onClick={clearLog}>
          Clear
        </Button>
      }
    >
      {lines.length === 0 && <p className="muted">Nothing yet</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
      <ol className={`grid gap-1 m-0 p-0 no-bullets scroll ${styles.log}`} data-testid="log" tabIndex={0}>
        {lines.toReversed().map(({ at, level, text }, place) => (
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

interface PageFacts {
  /** Bytes of this page's private storage in use, and its quota; null if the browser does not report them. */
  readonly usage: number | null;
  readonly quota: number | null;
  /** Whether the storage is persistent: the browser does not clear it when disk space is low. */
  readonly persisted: boolean | null;
  /** Requests persistent storage. */
  readonly persist: () => void;
}

/** Storage of the page, updated after every checkpoint. */
function usePageFacts(): PageFacts {
  const checkpoint = useRun((run) => run.lastCheckpoint?.at);
  const [storage, setStorage] = useState<Omit<PageFacts, "persist">>({ usage: null, quota: null, persisted: null });
  const read = useCallback(async () => {
    const [{ usage, quota }, persisted] = await Promise.all([
      navigator.storage.estimate(),
      navigator.storage.persisted(),
    ]);
    setStorage({ usage: usage ?? null, quota: quota ?? null, persisted });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a checkpoint uses storage
  useEffect(() => report(read()), [read, checkpoint]);
  const persist = useCallback(() => report(navigator.storage.persist().then(read)), [read]);
  return { ...storage, persist };
}

/** The browser: storage, processor threads, isolation. */
export function PagePanel(): ReactNode {
  const { usage, quota, persisted, persist } = usePageFacts();
  const share = usage === null || quota === null || quota === 0 ? null : Math.min(1, usage / quota);
  return (
    <Panel
      title="Storage and browser"
      aside={
        persisted === null ? undefined : persisted ? (
          <Badge tone="good">Storage is persistent</Badge>
        ) : (
          <Button kind="quiet" title="Otherwise the browser may clear it when disk space is low" onClick={persist}>
            Make it persistent
          </Button>
        )
      }
    >
      {share !== null && <StorageBar className="full-width mb-3" share={share} />}
      <FactList
        testId="page-facts"
        facts={[
          ["Storage used", `${formatBytes(usage)} of ${formatBytes(quota)}`],
          ["Processor threads", formatCount(navigator.hardwareConcurrency)],
          ["Cross-origin isolation", globalThis.crossOriginIsolated ? "yes: precise timers" : "no: rounded timers"],
          ["Browser", browserName() ?? NONE],
        ]}
      />
    </Panel>
  );
}

/** Name and version that the browser reports. */
export function browserName(): string | null {
  const found = /(Edg|OPR|Firefox|Chrome|Version)\/([\d.]+)/g;
  const names: Readonly<Record<string, string>> = { Edg: "Edge", OPR: "Opera", Version: "Safari" };
  const parts = [...navigator.userAgent.matchAll(found)];
  // Chromium-based browsers list Chrome before their own name.
  const last = parts.at(-1);
  return last === undefined ? null : `${names[last[1] as string] ?? last[1]} ${last[2]}`;
}

/** The contents of this screen as JSON, for a bug report: sizes and counts, no data, no settings, no keys. */
export function CopyReport({ report }: Places["report"]): ReactNode {
  const page = usePageFacts();
  return (
    <span className="row wrap gap-2">
      <CopyText
        kind="quiet"
        title="Copies adapter, storage, costs and memory as JSON, without data or keys"
        label="Copy report"
        text={() => JSON.stringify(reportOf(report, page), null, 2)}
      />
      <Button
        title="Saves the report and the log as JSON; the log names runs and files"
        onClick={() =>
          saveJson({ ...reportOf(report, page), log: useLog.getState().lines }, "sa2va-lab-diagnostics.json")
        }
      >
        Download diagnostics
      </Button>
    </span>
  );
}

function reportOf(report: SystemReport | null, { usage, quota, persisted }: PageFacts): object {
  const { gpu, gpuError, model } = useSession.getState();
  const { costs } = useRun.getState();
  return {
    browser: browserName(),
    isolated: globalThis.crossOriginIsolated,
    threads: navigator.hardwareConcurrency,
    storage: { usage, quota, persisted },
    gpu,
    gpuError: gpuError?.message ?? null,
    rate: report?.rate ?? null,
    model: model === null ? null : { family: model.family, parameters: model.parameters, storage: model.storage },
    selfTest: jobOf(SELF_TEST)?.progress.checks ?? [],
    memory: report?.memory ?? null,
    steps: costs.length,
    lastStep: costs.at(-1) ?? null,
  };
}
