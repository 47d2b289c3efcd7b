/** Runs from elsewhere, read-only here: computed by another machine and opened by address, or exported and dropped. */
import type { FolderRef } from "../../protocol/common.ts";
import { navigate } from "../stores/route.ts";
import { sessionStore } from "../stores/session.ts";
import { lab } from "./lab.ts";

/** @returns the run's id @throws LabError when the address shows no run */
export async function followRun(address: string, token: string): Promise<string> {
  const runId = await lab().data.follow(address, token);
  sessionStore.setState(({ followedRuns }) => ({ followedRuns: [...new Set([...followedRuns, runId])] }));
  return runId;
}

/** Opens the run in dropped files. @returns false when they hold none @throws LabError when it is damaged */
export async function importRun(folder: FolderRef): Promise<boolean> {
  const runId = await lab().data.importRun(folder);
  if (runId === null) return false;
  sessionStore.setState(({ importedRuns }) => ({ importedRuns: [...new Set([...importedRuns, runId])] }));
  navigate({ screen: "train", run: runId, step: null, rollout: null });
  return true;
}
