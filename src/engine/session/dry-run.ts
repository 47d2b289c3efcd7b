/** A dry run: measures the first two steps of an ordinary run, in a store that is then discarded. */
import { configDifference } from "../config/parse.ts";
import type { Setting } from "../config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../config/table.ts";
import { LabError } from "../errors.ts";
import type { PhasePlace, TrainerEvent } from "../rl/run/events.ts";
import type { RowList } from "../runs/run-rows.ts";
import { scratchStore } from "../storage/memory-store.ts";
import type { Session } from "./session.ts";

type StepEvent = Extract<TrainerEvent, { type: "step" }>;

interface DryRunAsked {
  readonly settings: LabConfig;
  readonly list: RowList;
  readonly onPhase: (place: DryRunPlace) => void;
  readonly signal: AbortSignal;
}

export interface DryRunPlace extends PhasePlace {
  readonly step: number;
}

export interface MeasuredStep {
  readonly seconds: number;
  /** GPU programs compiled in this step; most are compiled in the first step of a page. */
  readonly programs: number;
}

export interface DryRun {
  readonly first: MeasuredStep;
  readonly second: MeasuredStep;
  /** Bytes on the GPU after the second step, and peak bytes of all buffers. */
  readonly held: number;
  readonly peak: number;
  /** The settings made smaller because memory ran out, as text; null if none were. */
  readonly smaller: string | null;
}

/**
 * Settings of the dry run of a configuration. It asks no judge, so it sends no caption and counts against no budget. It
 * does not evaluate, save or keep features on disk. When memory runs out, it continues with a smaller setting without
 * asking.
 */
export function dryRunSettings(config: LabConfig): LabConfig {
  const nothingKept = { saveSteps: 0, evalSteps: 0, featureDisk: 0 } as const;
  return { ...config, ...nothingKept, steps: 2, judge: "off", outOfMemory: "smaller" };
}

/** Whether a step takes the same memory and time under both settings, on the same model and rows. */
export function stepCostsSame(a: LabConfig, b: LabConfig): boolean {
  return Object.keys(configDifference(a, b)).every((key) => (SETTINGS[key as SettingKey] as Setting).free === true);
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
