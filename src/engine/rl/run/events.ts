/** Events of a running trainer; the protocol wraps them, the tools print them. */
import type { RegionSummary } from "../../data/sample.ts";
import type { ErrorCode } from "../../errors.ts";
import type { GpuCounts } from "../../gpu/runtime/counters.ts";
import type { Alarm } from "../../runs/alarms.ts";
import type { EvalReport } from "../../runs/evaluations/evaluations.ts";
import type { PhaseCosts } from "../../runs/phase-lines.ts";
import type { GroupRecord, LoopId, StepMetrics } from "../../runs/rollouts/records.ts";

export type RunState =
  | "idle"
  | "ready"
  | "starting"
  | "running"
  | "pausing"
  | "paused"
  | "stopping"
  | "finished"
  | "failed";

/** The phases of a step, in order of their first appearance. */
export type Phase =
  | "sample" // rows are drawn, pictures and masks are fetched
  | "features" // frozen towers
  | "generate" // the policy samples
  | "partner" // the EMA partner responds
  | "reward"
  | "advantage"
  | "loss" // forward and backward
  | "update" // clip and AdamW
  | "ema"
  | "log"
  | "eval" // held-out rows
  | "checkpoint";

/** Seconds spent per phase in one step. */
export type PhaseTimes = Readonly<Partial<Record<Phase, number>>>;

/** GPU costs of a phase, and its peak bytes of all buffers. */
export type PhaseCount = GpuCounts & { readonly peakBytes: number };

/** GPU costs per phase of one step. */
export type PhaseCounts = Readonly<Partial<Record<Phase, PhaseCount>>>;

export type { Alarm } from "../../runs/alarms.ts";

/** A phase and the loop it belongs to; phases of the whole step have none. */
export interface PhasePlace {
  readonly phase: Phase;
  readonly loop: LoopId | null;
}

/** The phase before which a paused run holds. */
export interface NextPhase extends PhasePlace {
  /** Whether the weights are partly updated, so that a checkpoint waits for the end of the step. */
  readonly midUpdate: boolean;
}

/** The rows that a loop has drawn and samples next, one per group. */
export interface GivenRows {
  readonly step: number;
  readonly loop: LoopId;
  readonly rows: readonly RegionSummary[];
}

export type TrainerEvent =
  | {
      readonly type: "state";
      readonly state: RunState;
      readonly step: number;
      /** Next phase of a paused run. */
      readonly next?: NextPhase;
    }
  | {
      readonly type: "phase";
      readonly step: number;
      readonly loop: LoopId | null;
      readonly phase: Phase;
      /** GPU programs compiled so far, mostly in the first steps. */
      readonly programs: number;
    }
  | { readonly type: "rows"; readonly rows: GivenRows }
  /** A group as far as the step has computed it; "group" follows with the log-probabilities of its actions. */
  | { readonly type: "drawn"; readonly group: GroupRecord }
  | { readonly type: "group"; readonly group: GroupRecord }
  | {
      readonly type: "step";
      readonly step: number;
      readonly metrics: StepMetrics;
      readonly phaseTimes: PhaseTimes;
      readonly costs: PhaseCosts;
    }
  | { readonly type: "alarm"; readonly alarm: Alarm }
  /**
   * A reward is not available: the run pauses before the step and repeats it when continued. Or the storage is too full
   * for a step or an evaluation: continuing tries to store it again.
   */
  | {
      readonly type: "held";
      readonly step: number;
      readonly error: { readonly code: ErrorCode; readonly message: string; readonly subject?: string };
    }
  | { readonly type: "checkpoint"; readonly step: number; readonly bytes: number }
  /** Scored rows of the current evaluation. */
  | { readonly type: "eval-rows"; readonly done: number; readonly total: number }
  | { readonly type: "eval"; readonly report: EvalReport; readonly pictures: number };

/** What a run that waits tells: the error, and with a custom reward how its code is corrected. */
export function heldText({ error }: Extract<TrainerEvent, { readonly type: "held" }>): string {
  return error.subject === "userReward" ? `${error.message}. ${KEEPS_CODE}` : error.message;
}

const KEEPS_CODE =
  "The run keeps the code it started with: to correct it, stop the run, then start a new one or fork this one";
