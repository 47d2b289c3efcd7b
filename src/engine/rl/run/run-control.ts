/** Run control: reports, times and counts phases, holds the trainer while paused, ends it when stopped. */
import { LabError } from "../../errors.ts";
import { addCounts, countsBetween, type GpuCounts } from "../../gpu/runtime/counters.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import type { NextPhase, Phase, PhaseCount, PhaseCounts, PhasePlace, PhaseTimes, RunState } from "./events.ts";

export interface RunControlEvents {
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
