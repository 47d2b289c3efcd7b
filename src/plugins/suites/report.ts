/** The report of an evaluation. */
import { fewPicturesText } from "../../engine/runs/evaluations/difference-text.ts";
import type { SuitePart } from "./part.ts";
import {
  answeredItems,
  publishedFor,
  type SuiteRow,
  type SuiteScores,
  type SuiteWork,
  suiteScores,
} from "./run-suite.ts";
import type { AnsweredItem, AnswerMode, PublishedScore, SuiteTools } from "./suite.ts";

export interface SuiteReport extends SuiteScores {
  readonly suite: string;
  readonly what: string;
  readonly split: string | null;
  /** Which of the split's pictures: all, or one of the two parts that `part.ts` makes. */
  readonly part: SuitePart;
  /** Number of evaluations of these rows in the same store, including this one. */
  readonly looks: number;
  readonly rows: number;
  readonly pictures: number;
  /** Number of reasons why rows are left out, not of rows. */
  readonly leftOut: number;
  readonly rule: string;
  readonly answers: AnswerMode;
  /** Name of the judge; null without one. */
  readonly judge: string | null;
  /** Captions without a verdict. Their rows are in no number, of the other system either. */
  readonly unjudged: number;
  readonly interval: string;
  readonly published: readonly PublishedScore[];
}

export interface Evaluated
  extends Pick<SuiteWork, "suite" | "mode" | "items" | "systems">,
    Pick<SuiteReport, "part" | "looks" | "leftOut" | "judge"> {
  readonly split: string | undefined;
}

/** @param answers of every row, by `answerKey` @throws LabError("internal") when one is missing */
export function suiteReport(
  { suite, split, part, looks, mode, items, leftOut, systems, judge }: Evaluated,
  answers: ReadonlyMap<string, SuiteRow>,
  tools: SuiteTools,
): SuiteReport {
  const rows = Object.fromEntries(systems.map((system) => [system, answeredItems(items, answers, system)]));
  const waits = ({ item, judged }: AnsweredItem): boolean =>
    suite.judged && judged === undefined && item.kind?.startsWith("vqa") !== true;
  return {
    suite: suite.name,
    what: suite.what,
    split: split ?? null,
    part,
    looks,
    rows: items.length,
    pictures: new Set(items.map(({ imageId }) => imageId)).size,
    leftOut,
    rule: suite.rule,
    answers: mode,
    judge,
    unjudged: Object.values(rows).flat().filter(waits).length,
    interval: "95 %, percentile bootstrap over pictures, 2,000 draws, ratios as ratios",
    ...suiteScores(suite, rows, tools),
    published: publishedFor(suite, split),
  };
}

/**
 * Facts about the rows that precede a number: their part, how often they were evaluated, and a warning if they are few.
 */
export function looksText({
  part = "all",
  looks = 1,
  pictures = Number.POSITIVE_INFINITY,
}: Partial<Pick<SuiteReport, "part" | "looks" | "pictures">>): string {
  const chosen = { all: "", selection: "the selection part: to choose, not to report; ", report: "the report part; " }[
    part
  ];
  const level = (100 - 5 / looks).toFixed(1);
  const times =
    looks < 2
      ? "first evaluation of these rows"
      : `evaluation ${looks} of these rows; each interval covers one evaluation; compare all ${looks} at ${level} % (Bonferroni)`;
  const few = fewPicturesText(pictures);
  return `${chosen}${times}${few === "" ? "" : `; ${few}`}`;
}
