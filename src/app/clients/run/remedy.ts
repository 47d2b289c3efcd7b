/** Applies a proposal of an alarm: to a fork from the checkpoint before it, or to the settings of a new run. */
import type { LabConfig } from "../../../engine/config/table.ts";
import { LabError } from "../../../engine/errors.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { navigate } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { changeConfig } from "../../stores/session.ts";
import { lab } from "../lab.ts";
import { forkRun } from "./start-run.ts";

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
  const steps = stored ? (await lab().data.run(manifest.id)).run.checkpoints : [];
  const from = steps.findLast((step) => step < before);
  if (from === undefined) {
    changeConfig({ ...manifest.config, ...changes });
    navigate({ screen: "setup" });
    return;
  }
  await forkRun(manifest, from, changes);
  navigate({ screen: "train", run: null, step: null, rollout: null });
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
