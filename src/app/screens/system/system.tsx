import { type ReactNode, useEffect, useState } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { lab, report as reported } from "../../clients/lab.ts";
import { saveJson } from "../../clients/save-blob.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { Button, CopyText } from "../../components/ui/button.tsx";
import { Tabs } from "../../components/ui/tabs.tsx";
import { jobOf, SELF_TEST } from "../../stores/jobs.ts";
import { useLog } from "../../stores/log.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { AdapterPanel } from "./gpu.tsx";
import { browserName, LogPanel, type PageFacts, PagePanel, usePageFacts } from "./log.tsx";
import styles from "./system.module.css";

/** Milliseconds between two memory reports during a run. */
const BEAT_MS = 2000;

/** Memory held on the device: updated after every step, at an interval during a run, and when the model changes. */
function useSystemReport(): SystemReport | null {
  const ready = useSession((session) => session.gpu !== null && session.gpuError === null);
  const model = useSession((session) => session.model);
  const loading = useSession((session) => session.modelProgress !== null);
  const state = useRun((run) => run.state);
  const step = useRun((run) => run.step);
  const [found, setFound] = useState<SystemReport | null>(null);
  const active = isActive(state);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of these changes the memory held
  useEffect(() => {
    if (!ready) return;
    let current = true;
    const ask = (): void =>
      reported(
        lab()
          .trainer.system()
          .then((answer) => {
            if (current) setFound(answer);
          }),
      );
    ask();
    const timer = active ? setInterval(ask, BEAT_MS) : undefined;
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [ready, model, loading, state, step, active]);
  return ready ? found : null;
}

/** Adapter, storage and log; plug-ins add the self-test, memory by owner and tools. */
export default function System(): ReactNode {
  const report = useSystemReport();
  const page = usePageFacts();
  const panels = (...content: readonly ReactNode[]): ReactNode => <div className="grid gap-3 min-0">{content}</div>;
  const tools = {
    id: "tools",
    label: "Tools",
    content: panels(<PluginPanels key="tools" at="tools" given={{}} />),
  };
  const memory = { id: "memory", label: "Memory", content: <PluginPanels at="memory" given={{ report }} /> };
  return (
    <div className={`grid gap-3 min-0 ${styles.system}`} data-testid="system">
      <Tabs
        label="System"
        tabs={[
          {
            id: "gpu",
            label: "GPU",
            content: panels(
              <PluginPanels key="test" at="self-test" given={{}} />,
              <AdapterPanel key="adapter" rate={report?.rate ?? null} />,
              <PagePanel key="page" facts={page} />,
            ),
          },
          ...(hasPanels("memory") ? [memory] : []),
          { id: "log", label: "Log", content: <LogPanel /> },
          ...(hasPanels("tools") ? [tools] : []),
        ]}
      />
      <CopyReport report={report} page={page} />
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
