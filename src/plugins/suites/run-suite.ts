/**
 * Runs an evaluation from its rows to its report. It can be stopped after any row and continues from the stored
 * answers.
 */
import { isRecord } from "../../engine/bytes/json.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { bootstrapClusters, clustersBy } from "../../engine/eval/bootstrap.ts";
import type {
  AnsweredItem,
  AnswerMode,
  PublishedScore,
  Suite,
  SuiteAnswer,
  SuiteItem,
  SuiteTask,
  SuiteTools,
  Verdict,
} from "./suite.ts";

/** The weights that answered. */
export type System = "base" | "adapter";

/** An answer as stored. */
export interface SuiteRow extends SuiteAnswer {
  readonly system: System;
  readonly rowId: string;
  readonly judged?: Verdict;
}

export function answerKey(system: System, rowId: string): string {
  return `${system} ${rowId}`;
}

/** Tasks of one picture that are asked together. */
const AT_ONCE = 8;

export interface SuiteWork {
  readonly suite: Suite;
  readonly items: readonly SuiteItem[];
  readonly mode: AnswerMode;
  readonly systems: readonly System[];
  /** Answers by `answerKey`; `keep` adds to them. */
  readonly answers: ReadonlyMap<string, SuiteRow>;
  /** Answers of one picture, all tasks of one kind. @param index of the first item */
  ask(system: System, index: number, tasks: readonly SuiteTask[]): Promise<readonly SuiteAnswer[]>;
  keep(rows: readonly SuiteRow[]): Promise<void>;
  onProgress(done: number): void;
  readonly signal: AbortSignal;
}

/** Asks the unanswered rows, picture by picture. @throws LabError("cancelled"); earlier answers are kept */
export async function answerRows(work: SuiteWork): Promise<void> {
  const { suite, items, mode, systems, answers, signal } = work;
  for (let from = 0; from < items.length; ) {
    const first = items[from] as SuiteItem;
    const task = suite.task(first, mode);
    let to = from + 1;
    const most = task.kind === "ask" ? 1 : AT_ONCE;
    while (to < items.length && to - from < most && items[to]?.imageId === first.imageId) to++;
    for (const system of systems) {
      const open = items.slice(from, to).filter(({ id }) => !answers.has(answerKey(system, id)));
      if (open.length === 0) continue;
      if (signal.aborted) throw new LabError("cancelled", "The evaluation was stopped; its answers are kept");
      const tasks = open.map((item) => suite.task(item, mode));
      const found = await work.ask(system, from, tasks);
      await work.keep(open.map(({ id: rowId }, at) => ({ system, rowId, ...found[at] })));
    }
    from = to;
    work.onProgress(from);
  }
}

/** Rows with their answers. @throws LabError("internal") when one is missing */
export function answeredItems(
  items: readonly SuiteItem[],
  answers: ReadonlyMap<string, SuiteRow>,
  system: System,
): AnsweredItem[] {
  return items.map((item) => {
    const answer = answers.get(answerKey(system, item.id));
    if (answer === undefined) throw new LabError("internal", `Row ${item.id} has no answer`);
    return { item, answer, judged: answer.judged };
  });
}

/** A score with its 95 % interval over pictures: 0..1 (CIDEr-D 0..10, judged ones −1..1). */
export interface SuiteScore {
  readonly metric: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface SuiteScores {
  readonly systems: Readonly<Partial<Record<System, readonly SuiteScore[]>>>;
  /** Adapter − base on the same draws of pictures; null without an adapter. */
  readonly difference: readonly SuiteScore[] | null;
}

/** The draws do not depend on the run. */
const SEED = 20_260_101;

/** Scores of one system or two on the same rows, at least one. */
export function suiteScores(
  suite: Suite,
  systems: Readonly<Partial<Record<System, readonly AnsweredItem[]>>>,
  tools: SuiteTools,
): SuiteScores {
  const { base = [], adapter } = systems;
  const clusters = clustersBy(base.map(({ item }) => item.imageId));
  const metrics = (rows: readonly AnsweredItem[]) => suite.metrics(rows, clusters, tools);
  const scores = (list: ReturnType<typeof metrics>): SuiteScore[] =>
    bootstrapClusters(
      clusters.names.length,
      SEED,
      list.map(({ statistic }) => statistic),
    ).flatMap(({ mean: value, low, high }, at) =>
      Number.isNaN(value) ? [] : [{ metric: list[at]?.name ?? "", value, low, high }],
    );
  if (adapter === undefined) return { systems: { base: scores(metrics(base)) }, difference: null };
  // Only rows with verdicts for both systems can be compared.
  const before = metrics(suite.judged ? judgedIn(base, adapter) : base);
  const after = metrics(suite.judged ? judgedIn(adapter, base) : adapter);
  const pairs = before.flatMap(({ name, statistic }) => {
    const then = after.find((metric) => metric.name === name)?.statistic;
    return then === undefined
      ? []
      : [{ name, statistic: (drawn: ArrayLike<number>) => then(drawn) - statistic(drawn) }];
  });
  return { systems: { base: scores(before), adapter: scores(after) }, difference: scores(pairs) };
}

/** The rows, without the verdicts that the other system lacks for the same rows. */
function judgedIn(rows: readonly AnsweredItem[], others: readonly AnsweredItem[]): AnsweredItem[] {
  return rows.map((row, at) => (others[at]?.judged === undefined ? { ...row, judged: undefined } : row));
}

/** Published scores of the split. */
export function publishedFor(suite: Suite, split: string | undefined): readonly PublishedScore[] {
  return suite.published[split ?? ""] ?? [];
}

/** An answer as stored in a file. @throws LabError("bad-input") when it is not one */
export function parseSuiteRow(value: unknown, from: string): SuiteRow {
  const bad = (): LabError => badInput(`${from} holds a line that is not an answer`, from);
  if (!isRecord(value) || typeof value.rowId !== "string") throw bad();
  const { system, rowId, text, masks, judged } = value;
  if (system !== "base" && system !== "adapter") throw bad();
  return {
    system,
    rowId,
    ...(typeof text === "string" ? { text } : {}),
    ...(Array.isArray(masks) ? { masks: masks.map((mask) => rleOf(mask) ?? fail(bad())) } : {}),
    ...(judged === undefined ? {} : { judged: verdictOf(judged) ?? fail(bad()) }),
  };
}

function rleOf(value: unknown): Rle | undefined {
  if (!isRecord(value) || typeof value.counts !== "string" || !Array.isArray(value.size)) return undefined;
  const [height, width] = value.size as unknown[];
  return typeof height === "number" && typeof width === "number"
    ? { counts: value.counts, size: [height, width] }
    : undefined;
}

function verdictOf(value: unknown): Verdict | undefined {
  if (!isRecord(value) || typeof value.positive !== "number") return undefined;
  const { positive, negative, judge, questions } = value;
  if (typeof negative !== "number" && negative !== null) return undefined;
  return {
    positive,
    negative,
    ...(typeof judge === "string" ? { judge } : {}),
    ...(typeof questions === "string" ? { questions } : {}),
  };
}

function fail(error: LabError): never {
  throw error;
}
