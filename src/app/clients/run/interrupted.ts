/** The run that a closed, reloaded or crashed page left behind. */
import { heldRuns } from "../../../engine/storage/lock.ts";
import { navigate, routeStore } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { forgetRun } from "../../stores/run/run.ts";
import { sessionStore } from "../../stores/session.ts";
import { lab } from "../lab.ts";

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

/** Deletes a stored run with its rollouts and checkpoints; nothing of the page shows it any more. */
export async function deleteRun(id: string): Promise<void> {
  await lab().data.deleteRun(id);
  forgetMetrics(id);
  forgetRun(id);
  if (sessionStore.getState().interrupted?.manifest.id === id) forgetInterrupted();
  if (routeStore.getState().run === id) navigate({ run: null, step: null, rollout: null });
}
