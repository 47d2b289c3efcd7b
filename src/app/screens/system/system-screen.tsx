import type { ReactNode } from "react";
import { PluginPanels } from "../../components/place/place.tsx";
import { AdapterPanel } from "./adapter-panel.tsx";
import { CopyReport } from "./copy-report.tsx";
import { Figures } from "./figures.tsx";
import { LogPanel } from "./log-panel.tsx";
import { MemoryPanel } from "./memory-panel.tsx";
import { PagePanel } from "./page-panel.tsx";
import { PhasesPanel } from "./phases-panel.tsx";
import { SelfTestPanel } from "./self-test-panel.tsx";
import styles from "./system.module.css";
import { usePageFacts, useSystemReport } from "./use-system.ts";

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
