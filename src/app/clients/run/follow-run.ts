/** Read-only runs: computed on another machine and opened by address, or exported and dropped. */
import type { FolderRef } from "../../../protocol/common.ts";
import { navigate } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { lab } from "../lab.ts";

/** Opens the run of a server and shows it. @throws LabError when it serves no run */
export async function followRun(address: string, token: string): Promise<void> {
  const run = await lab().data.follow(address, token);
  useSession.setState(({ followedRuns }) => ({ followedRuns: [...new Set([...followedRuns, run])] }));
  navigate({ screen: "train", run, step: null, rollout: null });
}

/**
 * Opens the run in dropped files, or adds its steps to the stored run that they continue.
 * @returns false when they hold none
 * @throws LabError when it is damaged, or stored with other steps
 */
export async function importRun(folder: FolderRef): Promise<boolean> {
  // A long run takes a while: all its files are checked first.
  useSession.setState({ importing: folder.kind === "picked" ? folder.name : null });
  const found = await lab()
    .data.importRun(folder)
    .finally(() => useSession.setState({ importing: null }));
  if (found === null) return false;
  const { id, stored } = found;
  if (stored) {
    forgetMetrics(id);
    useRun.setState(({ evaluations }) => ({ evaluations: evaluations + 1 }));
    navigate({ screen: "runs", run: null, step: null, rollout: null });
  } else {
    useSession.setState(({ importedRuns }) => ({ importedRuns: [...new Set([...importedRuns, id])] }));
    navigate({ screen: "train", run: id, step: null, rollout: null });
  }
  return true;
}
