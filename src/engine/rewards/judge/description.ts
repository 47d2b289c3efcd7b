/** The record of a run's judge. */
import type { LabConfig } from "../../config/table.ts";
import type { JudgePrompts } from "./questions/prompts.ts";

/** The two kinds of judge. Their scores differ and are never mixed. */
export type JudgeKindName = "questions" | "dlc";

/** The judge as recorded in a run folder, without key or query. */
export interface JudgeDescription {
  readonly instrument: JudgeKindName;
  readonly place: string;
  readonly model: string;
  readonly temperature: 0;
  readonly range: LabConfig["judgeRange"];
  readonly version: string;
  readonly prompts: JudgePrompts;
}
