/** Run control: reports, times and counts phases, holds the trainer while paused, ends it when stopped. */

import { LabError } from "../../errors.ts";
import {
  addCounts,
  countsBetween,
  type GpuCounts,
  gpuCounts,
  passClock,
  peakBytes,
} from "../../gpu/runtime/counters.ts";
import { memorySnapshot } from "../../gpu/runtime/memory-snapshot.ts";
import { flushBackend } from "../../gpu/runtime/program.ts";
import type { PhaseCost, PhaseCosts } from "../../runs/phase-lines.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import { StorageFull } from "../../storage/store.ts";
import type { NextPhase, Phase, PhaseCount, PhaseCounts, PhasePlace, PhaseTimes, RunState } from "./events.ts";

interface RunControlEvents {
  /** @param next the phase before which a pause holds */
  onState(state: RunState, next?: NextPhase): void;
  onPhase(phase: Phase, loop: LoopId | null): void;
}

/** Reads the GPU costs so far, and receives the current phase. */
export interface GpuMeter {
  counts(): GpuCounts;
  /** Peak bytes of all GPU buffers since the last call. */
  peak(): number;
  label(phase: Phase | null): void;
}

/** Action at the next phase boundary. */
type Eta = "run" | "step" | "phase" | "hold";

export class RunControl {
  #eta: Eta = "run";
  #state: RunState = "ready";
  #wake: (() => void) | undefined;
  readonly #work: (() => Promise<void>)[] = [];
  #current: Phase | undefined;
  #updating = false;
  #inStep = false;
  #since = 0;
  #counted: GpuCounts;
  #times: Partial<Record<Phase, number>> = {};
  #counts: Partial<Record<Phase, PhaseCount>> = {};
  readonly #events: RunControlEvents;
  readonly #now: () => number;
  readonly #meter: GpuMeter;
  readonly #abort = new AbortController();

  /** @param now seconds, monotonic */
  constructor(events: RunControlEvents, now: () => number, meter: GpuMeter) {
    this.#events = events;
    this.#now = now;
    this.#meter = meter;
    this.#counted = meter.counts();
  }

  get state(): RunState {
    return this.#state;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  setState(state: RunState, next?: NextPhase): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#events.onState(state, next);
  }

  play(): void {
    this.#release("run");
  }

  /** One whole step, then hold. */
  step(): void {
    this.#release("step");
  }

  /** One phase, then hold. */
  phase(): void {
    this.#release("phase");
  }

  pause(): void {
    if (this.#state !== "running") return;
    this.#eta = "hold";
    this.setState("pausing");
  }

  /** Holds the trainer at the next boundary; the interrupted step is not counted. */
  hold(): void {
    if (this.#state === "stopping") return;
    this.#settle();
    this.#leave();
    this.#inStep = false;
    this.#updating = false;
    this.#eta = "hold";
  }

  /**
   * While the trainer is held: runs work, after any earlier work, with the weights of the last step. The trainer stays
   * held afterwards.
   * @param between allows the work only between two steps, because it can fail as a step does
   * @returns false if the trainer is not held, or if the weights are being updated
   */
  whileHeld(work: () => Promise<void>, between = false): boolean {
    if (this.#state !== "paused" || this.#updating || (between && this.#inStep)) return false;
    this.#work.push(work);
    this.#wake?.();
    return true;
  }

  stop(): void {
    this.setState("stopping");
    this.#abort.abort();
    this.#wake?.();
  }

  /**
   * Enters a phase; holds first if the mode requires it. After the update has begun, a stop waits for the end of the step,
   * so that weights, moments and average stay consistent.
   * @throws LabError("cancelled") when stopped
   */
  async enter(phase: Phase, loop: LoopId | null): Promise<void> {
    this.#settle();
    if (this.#eta === "hold") await this.#hold({ phase, loop });
    if (this.#eta === "phase") this.#eta = "hold";
    this.#stopIfAsked();
    if (phase === "update") this.#updating = true;
    this.#current = phase;
    this.#since = this.#now();
    this.#counted = this.#meter.counts();
    this.#meter.peak();
    this.#meter.label(phase);
    this.#events.onPhase(phase, loop);
  }

  /**
   * Before a step or an evaluation: waits after a single step, a single phase or a pause. @param next the next phase
   */
  async beforeStep(next: Phase = "sample"): Promise<void> {
    // A repeated evaluation has no step that could be left unfinished.
    this.#inStep = false;
    if (this.#eta === "hold") await this.#hold({ phase: next, loop: null });
    this.#stopIfAsked();
    this.#inStep = true;
    this.#times = {};
    this.#counts = {};
    this.#leave();
  }

  /** Leaves the last phase. Seconds and GPU calls per phase since the step began; a phase entered twice holds both. */
  stepCosts(): { readonly times: PhaseTimes; readonly counts: PhaseCounts } {
    this.#settle();
    this.#leave();
    return { times: this.#times, counts: this.#counts };
  }

  /** Ends a step; from now on its weights and metrics belong together. */
  endStep(): void {
    this.#leave();
    this.#inStep = false;
    this.#updating = false;
    if (this.#eta === "step") this.#eta = "hold";
  }

  #leave(): void {
    this.#current = undefined;
    this.#meter.label(null);
  }

  #settle(): void {
    if (this.#current === undefined) return;
    const now = this.#now();
    this.#times[this.#current] = (this.#times[this.#current] ?? 0) + now - this.#since;
    this.#since = now;
    const counted = this.#meter.counts();
    const spent = countsBetween(this.#counted, counted);
    const before = this.#counts[this.#current];
    const peak = Math.max(this.#meter.peak(), before?.peakBytes ?? 0);
    this.#counts[this.#current] = {
      ...(before === undefined ? spent : addCounts(before, spent)),
      peakBytes: peak,
    };
    this.#counted = counted;
  }

  async #hold(next: PhasePlace): Promise<void> {
    this.#stopIfAsked();
    if (this.signal.aborted) return;
    this.setState("paused", { ...next, midUpdate: this.#updating });
    do {
      if (this.#work.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
      await this.#work.shift()?.();
    } while (this.#state === "paused");
    // The remaining requests are handled when the step ends.
    this.#work.length = 0;
    this.#since = this.#now();
    this.#counted = this.#meter.counts();
    this.#stopIfAsked();
  }

  #release(eta: Exclude<Eta, "hold">): void {
    if (this.#state === "stopping") return;
    this.#eta = eta;
    this.setState("running");
    this.#wake?.();
  }

  #stopIfAsked(): void {
    if (this.#abort.signal.aborted && !this.#updating) throw new LabError("cancelled", "The run was stopped");
  }
}

// Writes of a run that wait for room.

/**
 * Writes. If the storage is full, the run pauses with the error's sentence and writes again once the user continues. A
 * stop tries once more, because a partly stored step would leave a gap.
 * @param write repeatable: it replaces what a failed attempt wrote
 * @param phase phase in which the run pauses
 * @throws StorageFull if there is still no room after a stop; other errors of the write
 */
export async function untilStored<T>(
  write: () => Promise<T>,
  phase: Phase,
  control: RunControl,
  tell: (error: LabError) => void,
): Promise<T> {
  while (true) {
    try {
      return await write();
    } catch (thrown) {
      if (!(thrown instanceof StorageFull) || control.signal.aborted) throw thrown;
      control.pause();
      tell(thrown);
      await control.enter(phase, null).catch((stopped: unknown) => {
        if (!control.signal.aborted) throw stopped;
      });
    }
  }
}

// Costs of a step's phases: wall time, GPU time, and device calls.

/** Measures the current device of this thread. */
export const DEVICE_METER: GpuMeter = {
  counts: gpuCounts,
  peak: peakBytes,
  label: (phase) => passClock()?.label(phase),
};

/** Starts timing; earlier passes do not count. */
export function restartGpuTimes(): void {
  passClock()?.restart();
}

/**
 * Seconds of GPU work in each phase since the restart; null without timestamp queries.
 * @throws LabError("gpu") when the device is lost
 */
export async function gpuTimes(): Promise<ReadonlyMap<string, number> | null> {
  const clock = passClock();
  if (clock === undefined) return null;
  flushBackend();
  return await clock.read();
}

export function phaseCosts(
  times: PhaseTimes,
  counts: PhaseCounts,
  gpu: ReadonlyMap<string, number> | null,
): PhaseCosts {
  const costs: Record<string, PhaseCost> = {};
  for (const phase of Object.keys(times) as (keyof PhaseTimes)[]) {
    const counted = counts[phase];
    if (counted === undefined) continue;
    // Without passes the time is 0; with untimed passes it is unknown.
    const gpuSeconds = gpu === null ? null : (gpu.get(phase) ?? (counted.dispatches === 0 ? 0 : null));
    costs[phase] = { seconds: times[phase] ?? 0, gpuSeconds, ...counted };
  }
  return costs;
}

/** Seconds of every phase, by metric. */
export function timeMetrics(times: PhaseTimes): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([phase, seconds]) => [`time/${phase}`, seconds]));
}

/**
 * @param pooled bytes of free buffers, which do not count as allocated, because a repeated run may start with a
 * different pool
 * @param drawn prompts of a loop in all steps so far
 * @param trainRows number of training rows, at least 1
 */
export function stepFacts(pooled: number, drawn: number, trainRows: number): Record<string, number> {
  const memory = memorySnapshot();
  return {
    "memory/num_tensors": memory.tensors,
    "memory/gpu_bytes": memory.gpuBytes,
    "memory/gpu_bytes_allocated": memory.gpuBytesAllocated - pooled,
    epoch: drawn / trainRows,
  };
}
