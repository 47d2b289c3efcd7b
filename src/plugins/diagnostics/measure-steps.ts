/** A dry run: measures the first two steps of an ordinary run, in a store that is then discarded. */
import type { LabConfig } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import type { TrainerEvent } from "../../engine/rl/run/events.ts";
import type { RowList } from "../../engine/runs/run-rows.ts";
import { type DryRun, type DryRunPlace, dryRunSettings, type MeasuredStep } from "../../engine/session/dry-run.ts";
import type { Session } from "../../engine/session/session.ts";
import { scratchStore } from "../../engine/storage/memory-store.ts";

type StepEvent = Extract<TrainerEvent, { type: "step" }>;

interface DryRunAsked {
  readonly settings: LabConfig;
  readonly list: RowList;
  readonly onPhase: (place: DryRunPlace) => void;
  readonly signal: AbortSignal;
}

/**
 * Takes two steps as a run with these settings would, and frees everything.
 * @throws LabError as `Session.start` and a run do; "cancelled" when the signal aborts
 */
export async function dryRun(
  session: Pick<Session, "start" | "trainer">,
  { settings, list, onPhase, signal }: DryRunAsked,
): Promise<DryRun> {
  const steps: StepEvent[] = [];
  let smaller: string | null = null;
  let held: LabError | undefined;
  const stop = (): void => session.trainer?.control.stop();
  const emit = (event: TrainerEvent): void => {
    if (event.type === "phase") onPhase({ step: event.step, phase: event.phase, loop: event.loop });
    if (event.type === "step") steps[event.step - 1] = event;
    if (event.type === "alarm" && event.alarm.id === "out-of-memory") smaller = event.alarm.message;
    if (event.type !== "held") return;
    held = new LabError(event.error.code, event.error.message);
    stop();
  };
  const named = { title: "Dry run", created: new Date(0).toISOString() };
  const run = await session.start(
    { settings: dryRunSettings(settings), list, ...named },
    { store: scratchStore(), emit },
  );
  signal.addEventListener("abort", stop);
  try {
    if (signal.aborted) stop();
    await run.done;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  const [first, second] = steps;
  if (held !== undefined) throw held;
  if (signal.aborted || first === undefined || second === undefined)
    throw new LabError("cancelled", "The dry run was stopped");
  const peaks = [first, second].flatMap(({ costs }) => Object.values(costs).map(({ peakBytes }) => peakBytes ?? 0));
  return {
    first: measuredStep(first),
    second: measuredStep(second),
    held: second.metrics["memory/gpu_bytes"] ?? Number.NaN,
    peak: Math.max(...peaks),
    smaller,
  };
}

function measuredStep({ metrics, costs }: StepEvent): MeasuredStep {
  const programs = Object.values(costs).reduce((sum, cost) => sum + (cost.programs ?? 0), 0);
  return { seconds: metrics.step_time ?? Number.NaN, programs };
}
