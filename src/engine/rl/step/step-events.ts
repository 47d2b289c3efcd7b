/** What a step tells its listeners, and what they make of it. */
import type { LoopId } from "../../runs/rollouts/records.ts";
import type { Loop } from "../loops/loop.ts";
import type { GroupAdvantages } from "../objective/advantages.ts";
import type { LossSettings } from "../objective/loss-types.ts";
import type { GradientSum } from "../optim/gradient-sum.ts";
import type { StepGradients, UpdateReport } from "../optim/training-state.ts";
import type { AdvantageGroup, Group, GroupGradients, LoopRollouts, LossGroup, LossReadback } from "./group.ts";

export interface StepOutcome {
  readonly metrics: Readonly<Record<string, number>>;
  readonly update: UpdateReport;
}

/** The groups of one loop with advantages, and a function that gives log-probabilities of several at once under other weights. */
export interface LoopOfStep {
  readonly id: LoopId;
  readonly loop: Loop;
  readonly groups: readonly AdvantageGroup[];
  /** `groups` and those that dynamic sampling dropped, which are freed. */
  readonly sampled: readonly Group[];
  readonly logProbs: LoopRollouts["logProbs"];
}

/** One update of a step: one window of the rollouts in one of the iterations over them. */
export interface StepUpdate {
  /** 0 to μ − 1. */
  readonly iteration: number;
  readonly window: number;
  /** Number of the update within the step, from 0. */
  readonly index: number;
}

/** Tensors in an event are valid until the listener returns. */
export type StepEvent =
  /** A loop's groups have advantages. */
  | {
      readonly type: "advantages";
      readonly loop: LoopId;
      readonly groups: readonly Group[];
      readonly advantages: readonly GroupAdvantages[];
    }
  /** All loops are sampled and have advantages and, where the loss needs it, log π_ref. */
  | { readonly type: "sampled"; readonly loops: readonly LoopOfStep[] }
  /** Loss and gradients of one backward pass, before they are summed. */
  | ({
      readonly type: "loss";
      readonly update: StepUpdate;
      readonly loop: LoopOfStep;
      readonly settings: LossSettings;
    } & {
      readonly groups: readonly LossGroup[];
    } & GroupGradients)
  /** Every group of a loop in this update has a loss; `sum` holds their gradients. */
  | {
      readonly type: "loopLoss";
      readonly update: StepUpdate;
      readonly loop: LoopOfStep;
      readonly settings: LossSettings;
      readonly groups: readonly LossGroup[];
      readonly readbacks: readonly LossReadback[];
      readonly sum: GradientSum;
    }
  /** The loops' gradients before they are clipped and joined. */
  | { readonly type: "gradients"; readonly update: StepUpdate; readonly gradients: ReadonlyMap<LoopId, GradientSum> }
  /** The state is updated, or the update was skipped. */
  | {
      readonly type: "update";
      readonly update: StepUpdate;
      readonly report: UpdateReport;
      /** Norms and clips of the loops' gradients; empty for one loop. */
      readonly loops: StepGradients["loops"];
    };

export type Metrics = Readonly<Record<string, number>>;

export interface StepListener {
  /**
   * Observes the events of one step in order; the step continues when it returns. Returned metrics are logged with the
   * step: those of "loopLoss" events as their mean over the updates, those of other events as they are.
   */
  on(event: StepEvent): Metrics | undefined | Promise<Metrics | undefined>;
  /** Frees what the listener holds; called once, also after an error. */
  dispose?(): void;
}
