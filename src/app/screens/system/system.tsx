import { type ReactNode, useEffect, useState } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { lab, report as reported } from "../../clients/lab.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { Tabs } from "../../components/ui/tabs.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
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

/** The adapter in one line; a plug-in lists its features and limits. */
function Adapter(): ReactNode {
  const name = useSession(({ gpu, gpuError }) => gpuError?.message ?? gpu?.description ?? "");
  return <p>{name}</p>;
}

/** The graphics adapter; plug-ins add the self-test, memory by owner, storage, the log and tools. */
export default function System(): ReactNode {
  const report = useSystemReport();
  const panels = (...content: readonly ReactNode[]): ReactNode => <div className="grid gap-3 min-0">{content}</div>;
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
              <PluginPanels key="adapter" at="adapter" given={{ rate: report?.rate ?? null }} instead={<Adapter />} />,
              <PluginPanels key="browser" at="browser" given={{}} />,
            ),
          },
          hasPanels("memory") && {
            id: "memory",
            label: "Memory",
            content: <PluginPanels at="memory" given={{ report }} />,
          },
          hasPanels("log") && { id: "log", label: "Log", content: <PluginPanels at="log" given={{}} /> },
          hasPanels("tools") && {
            id: "tools",
            label: "Tools",
            content: panels(<PluginPanels key="tools" at="tools" given={{}} />),
          },
        ]}
      />
      <PluginPanels at="report" given={{ report }} />
    </div>
  );
}
