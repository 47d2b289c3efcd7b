/** The interface of a loop in a step. */
import type { LabConfig } from "../../config/table.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import type { Tensor } from "../../gpu/tf.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { ImageFeatures } from "../../policy/features.ts";
import { type CaptionPrompt, countCells, rowCells } from "../../policy/prompts.ts";
import type { RolloutRecord } from "../../runs/rollouts/records.ts";
import type { Group, LoopRollouts } from "../step/group.ts";
import type { EvaluateLoop } from "../step/held-out.ts";
import type { Step } from "../step/step.ts";

export interface Loop {
  /** Whether the loop can sample a row. */
  usable(model: Sa2vaModel, row: TrainingRow, config: LabConfig): boolean;
  /** The setting that affects which rows are usable, and the end of the error sentence for data without usable rows. */
  readonly needs: { readonly subject: string; readonly text: string };
  /** Samples and scores one group per row. */
  rollout(step: Step, rows: readonly TrainingRow[]): Promise<LoopRollouts>;
  /** L of the loss type with a fixed length: the maximum number of actions of a rollout of these groups. */
  longest(groups: readonly Group[], config: LabConfig): number;
  /** Samples held-out rows; if absent, evaluations have no score of the loop. */
  readonly evaluate?: EvaluateLoop;
  /** Recomputes a logged rollout with the weights that sampled it; if absent, *Recompute* shows nothing. */
  readonly look?: (step: Step, row: TrainingRow, features: ImageFeatures, rollout: RolloutRecord) => Promise<Looked>;
  /** Whether the loop trains the blocks of the language model; absent if it always does. */
  trainsLanguage?(config: LabConfig): boolean;
}

export interface Looked {
  /** Prompt of the completion; absent if the actions are not tokens. */
  readonly prompt?: CaptionPrompt;
  /** Logits of the answer's mask, [1, h, w], owned by the caller; null without a mask, and for clips. */
  readonly mask: Tensor | null;
}

/** A loop over regions needs a mask that covers a visual token. */
export const REGION_ROWS = {
  usable: (model: Sa2vaModel, row: TrainingRow, { smallRegions }: LabConfig) =>
    smallRegions === "force" || countCells(rowCells(model, row, false)) > 0,
  needs: {
    subject: "smallRegions",
    text: "has a mask that covers a visual token of this model; set smallRegions to force",
  },
} as const satisfies Partial<Loop>;
