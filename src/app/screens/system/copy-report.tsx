import type { ReactNode } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { saveJson } from "../../clients/save-blob.ts";
import { Button } from "../../components/ui/button.tsx";
import { CopyText } from "../../components/ui/panel/copy-text.tsx";
import { useLog } from "../../stores/log.ts";
import { useRun } from "../../stores/run/run.ts";
import { useSelfTest } from "../../stores/self-test.ts";
import { useSession } from "../../stores/session.ts";
import { phaseRows } from "./medians.ts";
import { browserName } from "./page-panel.tsx";
import type { PageFacts } from "./use-system.ts";

/** The contents of this screen as JSON, for a bug report: sizes and counts, no data, no settings, no keys. */
export function CopyReport(props: { readonly report: SystemReport | null; readonly page: PageFacts }): ReactNode {
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
