/** Forks of a stored run: the one way in which all of them start. */
import { lab, pluginCalls } from "../../app/clients/lab.ts";
import { resumeAndShow } from "../../app/clients/run/resume.ts";
import { readRun } from "../../app/clients/run/run-reads.ts";
import { agreeToRun, begin, selection } from "../../app/clients/run/start-run.ts";
import { openRowsOf } from "../../app/components/upload/pickers.tsx";
import { readOnce } from "../../app/stores/reads.ts";
import { navigate } from "../../app/stores/route.ts";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { changeConfig } from "../../app/stores/session.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { ForkCalls } from "./fork-calls.ts";

/**
 * Continues a copy of a stored run from one of its checkpoints, after it opened what the run needs, and shows it; the run
 * itself stays as it is.
 * @throws LabError when it cannot, naming a setting that a fork keeps
 */
export async function forkAndShow(run: RunManifest, step: number, changes: Partial<LabConfig>): Promise<void> {
  const title = `${run.title} from ${step}`;
  const created = new Date().toISOString();
  await resumeAndShow(run, openRowsOf, () =>
    begin(async () => {
      await agreeToRun({ ...run, config: { ...run.config, ...changes } });
      return pluginCalls<ForkCalls>("trainer").forkRun(run.id, selection(run.config), {
        step,
        title,
        created,
        changes,
      });
    }),
  );
}

/**
 * Continues a copy of a stored run with changed settings, from its newest checkpoint before the step; the run of this
 * page is stopped first. A run without such a checkpoint, or one that is not stored here, fills the form with its
 * settings instead.
 * @param stored whether the run is in this browser's storage
 * @throws LabError when it cannot
 */
export async function takeRemedy(
  manifest: RunManifest,
  stored: boolean,
  before: number,
  changes: Partial<LabConfig>,
): Promise<void> {
  const { runId, state } = useRun.getState();
  if (stored && runId === manifest.id && isActive(state)) await stopped();
  const steps = stored ? (await readOnce(readRun(manifest.id))).run.checkpoints : [];
  const from = steps.findLast((step) => step < before);
  if (from === undefined) {
    changeConfig({ ...manifest.config, ...changes });
    navigate({ screen: "setup" });
    return;
  }
  await forkAndShow(manifest, from, changes);
}

/** Stops the run of this page and waits for its end. @throws LabError if it fails on the way */
async function stopped(): Promise<void> {
  await lab().trainer.control("stop");
  await new Promise<void>((resolve, reject) => {
    const look = (): boolean => {
      const { state } = useRun.getState();
      if (state === "failed") reject(new LabError("internal", "The run failed before it could be stopped"));
      else if (!isActive(state)) resolve();
      else return false;
      return true;
    };
    if (look()) return;
    const unsubscribe = useRun.subscribe(() => {
      if (look()) unsubscribe();
    });
  });
}
