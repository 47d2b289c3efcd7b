/** The evaluation suite of the page: its choices, progress and report. */
import { create } from "zustand";
import type { SuitePart } from "./part.ts";
import type { SuiteReport } from "./report.ts";
import type { SuiteRow } from "./run-suite.ts";
import type { AnswerMode, SuiteItem } from "./suite.ts";

interface SuiteState {
  readonly suite: string;
  /** Empty for data without splits. */
  readonly split: string;
  readonly part: SuitePart;
  readonly mode: AnswerMode;
  /** Rows that are asked; 0 for all. */
  readonly rows: number;
  /** Whether the judge is sent pictures, where the suite's published judge sees them. */
  readonly judgePictures: boolean;
  readonly phase: "idle" | "opening" | "answering" | "judging" | "scoring";
  readonly items: readonly SuiteItem[];
  readonly leftOut: readonly string[];
  readonly done: number;
  /** Answers that were kept from an earlier start. */
  readonly kept: number;
  readonly answers: ReadonlyMap<string, SuiteRow>;
  readonly report: SuiteReport | null;
}

const NOTHING = { items: [], leftOut: [], done: 0, kept: 0, answers: new Map(), report: null } as const;

export const useSuite = create<SuiteState>()(() => ({
  suite: "masks",
  split: "",
  part: "all",
  mode: "free",
  rows: 50,
  judgePictures: false,
  phase: "idle",
  ...NOTHING,
}));

/** Why the choices cannot be changed now, or null. */
export function suiteBlocker({ phase }: Pick<SuiteState, "phase">): string | null {
  return phase === "idle" ? null : "An evaluation is in progress. Stop it first";
}

/** Shows the report of an earlier evaluation, unless one is in progress; its rows are shown once it is opened with its data. */
export function showReport(report: SuiteReport): void {
  if (suiteBlocker(useSuite.getState()) === null) useSuite.setState({ ...NOTHING, report });
}

/** Changes the choices unless an evaluation is in progress; an earlier report is no longer shown. */
export function chooseSuite(
  values: Partial<Pick<SuiteState, "suite" | "split" | "part" | "mode" | "rows" | "judgePictures">>,
): void {
  const state = useSuite.getState();
  const changed = Object.entries(values).some(([name, value]) => state[name as keyof typeof values] !== value);
  if (changed && suiteBlocker(state) === null) useSuite.setState({ ...values, ...NOTHING });
}
