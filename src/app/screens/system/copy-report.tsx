import type { ReactNode } from "react";
import type { SystemReport } from "../../../protocol/trainer.ts";
import { CopyText } from "../../components/ui/copy-text.tsx";
import { runStore } from "../../stores/run.ts";
import { selfTestStore } from "../../stores/self-test.ts";
import { sessionStore } from "../../stores/session.ts";
import { phaseRows } from "./medians.ts";
import { browserName } from "./page-panel.tsx";
import type { PageFacts } from "./use-system.ts";

/** The contents of this screen as JSON, for a bug report: sizes and counts, no data, no settings, no keys. */
export function CopyReport(props: { readonly report: SystemReport | null; readonly page: PageFacts }): ReactNode {
  return (
    <CopyText
      kind="quiet"
      title="Adapter, storage, costs and memory as JSON, without data or keys"
      label="Copy report"
      text={() => reportText(props.report, props.page)}
    />
  );
}

function reportText(report: SystemReport | null, { usage, quota, persisted }: PageFacts): string {
  const { gpu, gpuError, model } = sessionStore.getState();
  const rows = phaseRows(runStore.getState().costs);
  const value = {
    browser: browserName(),
    isolated: globalThis.crossOriginIsolated,
    threads: navigator.hardwareConcurrency,
    storage: { usage, quota, persisted },
    gpu,
    gpuError: gpuError?.message ?? null,
    rate: report?.rate ?? null,
    model: model === null ? null : { family: model.family, parameters: model.parameters, storage: model.storage },
    selfTest: selfTestStore.getState().checks,
    memory: report?.memory ?? null,
    steps: runStore.getState().costs.length,
    phases: rows === null ? null : { ...Object.fromEntries(rows.phases), "whole step": rows.total },
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}
