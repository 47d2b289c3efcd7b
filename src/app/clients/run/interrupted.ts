/** The run that a closed, reloaded or crashed page left behind, and runs that are deleted. */
import { quote } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { heldRuns } from "../../../engine/storage/lock.ts";
import { outdate, outdateRun, readOnce } from "../../stores/reads.ts";
import { navigate, useRoute } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { forgetRun, useRun } from "../../stores/run/run.ts";
import { addProblem, dropProblems, useSession } from "../../stores/session.ts";
import { lab, report } from "../lab.ts";
import { RUNS } from "./run-reads.ts";

/** Runs whose offer was dismissed. */
const dismissed = new Set<string>();

/** Looks for the newest run with a step, and offers the newest one that is stored as in progress and that no tab trains, unless its offer was dismissed. */
export async function findInterrupted(): Promise<void> {
  outdate(RUNS.key);
  try {
    const { runs } = (await readOnce(RUNS)).stored;
    const held = await heldRuns();
    const sorted = [...runs].sort((a, b) => b.manifest.created.localeCompare(a.manifest.created));
    const left = ({ manifest: { id, state } }: RunDigest): boolean =>
      state === "running" && !held.has(id) && !dismissed.has(id);
    const newest = sorted.find(({ steps }) => steps > 0)?.manifest ?? null;
    useSession.setState({ interrupted: sorted.find(left) ?? null, newest });
  } finally {
    useSession.setState(({ newest = null }) => ({ newest }));
  }
}

/** Milliseconds between two looks at a lock, and number of looks. */
const LOOK_EVERY = 100;
const LOOKS = 50;

/** Waits until a run that an ended trainer held is free, at most five seconds. */
export async function untilReleased(id: string): Promise<void> {
  for (let look = 0; look < LOOKS && (await heldRuns()).has(id); look++) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY));
  }
}

/** Dismisses the offer; the run stays stored. */
export function forgetInterrupted(): void {
  const { interrupted } = useSession.getState();
  if (interrupted !== null) dismissed.add(interrupted.manifest.id);
  useSession.setState({ interrupted: null });
}

const DELETED = "sa2va-lab/deleted-run";

/** Deletes a stored run with its rollouts and checkpoints; this page and other tabs no longer show it. */
export async function deleteRun(id: string): Promise<void> {
  await lab().data.deleteRun(id);
  dropRun(id);
  const others = new BroadcastChannel(DELETED);
  others.postMessage(id);
  others.close();
}

/** Drops what the page shows of runs that other tabs delete. */
export function followDeletions(): void {
  new BroadcastChannel(DELETED).addEventListener("message", ({ data }: MessageEvent<string>) => {
    const shown = useRoute.getState().run ?? useRun.getState().runId;
    dropRun(data);
    if (shown === data) addProblem({ code: "storage", message: `Run ${quote(data)} was deleted in another tab` });
  });
}

function dropRun(id: string): void {
  forgetMetrics(id);
  forgetRun(id);
  if (useSession.getState().interrupted?.manifest.id === id) forgetInterrupted();
  if (useRoute.getState().run === id) navigate({ run: null, step: null, rollout: null });
  dropProblems(({ subject }) => subject === id);
  outdateRun(id);
  if (useSession.getState().newest?.id !== id) return;
  // The one before it takes its place.
  useSession.setState({ newest: undefined });
  report(findInterrupted());
}
