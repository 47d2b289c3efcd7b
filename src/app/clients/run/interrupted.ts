/** The run that a closed, reloaded or crashed page left behind. */
import { heldRuns } from "../../../engine/storage/lock.ts";
import { navigate, useRoute } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { forgetRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { lab } from "../lab.ts";

/** Runs whose offer was taken off the page. */
const dismissed = new Set<string>();

/** Offers the newest run that is stored as in progress and that no tab trains, unless its offer was dismissed. */
export async function findInterrupted(): Promise<void> {
  const { runs } = await lab().data.runs();
  const held = await heldRuns();
  const left = runs.filter(({ manifest: { id, state } }) => state === "running" && !held.has(id) && !dismissed.has(id));
  const [newest = null] = left.sort((a, b) => b.manifest.created.localeCompare(a.manifest.created));
  useSession.setState({ interrupted: newest });
}

/** Takes the offer off the page; the run stays stored. */
export function forgetInterrupted(): void {
  const { interrupted } = useSession.getState();
  if (interrupted !== null) dismissed.add(interrupted.manifest.id);
  useSession.setState({ interrupted: null });
}

/** Deletes a stored run with its rollouts and checkpoints; nothing of the page shows it any more. */
export async function deleteRun(id: string): Promise<void> {
  await lab().data.deleteRun(id);
  forgetMetrics(id);
  forgetRun(id);
  if (useSession.getState().interrupted?.manifest.id === id) forgetInterrupted();
  if (useRoute.getState().run === id) navigate({ run: null, step: null, rollout: null });
}
