/** The run that a closed, reloaded or crashed page left behind. */
import { heldRuns } from "../../engine/storage/lock.ts";
import { forgetMetrics } from "../stores/metrics.ts";
import { sessionStore } from "../stores/session.ts";
import { lab } from "./lab.ts";

/** Looks once, when the page opens, for the newest run that was in progress and that no tab trains. */
export async function findInterrupted(): Promise<void> {
  const { runs } = await lab().data.runs();
  const held = await heldRuns();
  const left = runs.filter(({ manifest }) => manifest.state === "running" && !held.has(manifest.id));
  const [newest] = left.sort((a, b) => b.manifest.created.localeCompare(a.manifest.created));
  if (newest !== undefined) sessionStore.setState({ interrupted: newest });
}

/** Takes the offer off the page; the run stays stored. */
export function forgetInterrupted(): void {
  sessionStore.setState({ interrupted: null });
}

/** Deletes the run with its rollouts and checkpoints. */
export async function discardInterrupted(): Promise<void> {
  const { interrupted } = sessionStore.getState();
  if (interrupted === null) return;
  await lab().data.deleteRun(interrupted.manifest.id);
  forgetMetrics(interrupted.manifest.id);
  forgetInterrupted();
}
