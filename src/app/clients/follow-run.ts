/** Runs that another machine computes: opened by address, read-only here, read again while they are shown. */
import { sessionStore } from "../stores/session.ts";
import { lab } from "./lab.ts";

/** @returns the run's id @throws LabError when the address shows no run */
export async function followRun(address: string, token: string): Promise<string> {
  const runId = await lab().data.follow(address, token);
  sessionStore.setState(({ followedRuns }) => ({ followedRuns: [...new Set([...followedRuns, runId])] }));
  return runId;
}
