/** The interface of a loop in a step. */
import type { LabConfig } from "../../config/table.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import type { EvaluateLoop } from "../../eval/held-out.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import { countCells, rowCells } from "../../policy/prompts.ts";
import type { StepContext } from "../step/context.ts";
import type { Group, LoopRollouts } from "../step/group.ts";

export interface Loop {
  /** Whether the loop can sample a row. */
  usable(model: Sa2vaModel, row: TrainingRow, config: LabConfig): boolean;
  /** The setting that affects which rows are usable, and the end of a sentence for data without usable rows. */
  readonly needs: { readonly subject: string; readonly text: string };
  /** Samples and scores one group per row. */
  rollout(context: StepContext, rows: readonly TrainingRow[]): Promise<LoopRollouts>;
  /** L of the losses of a fixed length: the maximum actions of a rollout of these groups. */
  longest(groups: readonly Group[], config: LabConfig): number;
  /** Samples held-out rows; without it evaluations have no score of the loop. */
  readonly evaluate?: EvaluateLoop;
  /** Whether the loop trains the blocks of the language model; absent if it always does. */
  trainsLanguage?(config: LabConfig): boolean;
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
