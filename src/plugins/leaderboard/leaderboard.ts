/**
 * Stored runs by a held-out score over the same rows: mean, and paired difference from their starts or from one run.
 */
import { addTo } from "../../engine/bytes/collections.ts";
import { rowsHash } from "../../engine/data/open-rows.ts";
import { bootstrapMean } from "../../engine/eval/bootstrap.ts";
import { REPORT_SEED } from "../../engine/eval/report.ts";
import {
  EVAL_METRICS,
  type EvalMetric,
  type Interval,
  readEvaluations,
} from "../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../engine/runs/library/digest.ts";
import { countChanges } from "../../engine/runs/library/run-result.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import { type LedgerColumn, runColumn } from "../suites/ledger.ts";

export interface BoardAsked {
  readonly score: EvalMetric;
  /** Which evaluation of a run counts; a run without it is left out. */
  readonly at: "newest" | "best";
  /** Id of the run that others are compared with; null compares each with its own start. */
  readonly base: string | null;
}

export interface BoardLine {
  readonly run: string;
  readonly title: string;
  readonly step: number;
  readonly mean: number;
  /** Null where the base has other rows, for the base itself, and for a run whose start was not evaluated. */
  readonly difference: Interval | null;
  readonly better: number;
  readonly worse: number;
}

/** Runs that were evaluated on the same rows. */
export interface Board {
  /** Hash of the rows. */
  readonly hash: string;
  readonly rows: number;
  readonly pictures: number;
  /** Highest mean first. */
  readonly lines: readonly BoardLine[];
}

/** The scores of an evaluation of a run. */
interface ScoredStep {
  readonly step: number;
  readonly columns: Readonly<Record<EvalMetric, LedgerColumn>>;
}

export interface BoardEntry {
  readonly run: Pick<RunDigest, "manifest" | "best">;
  /** Ascending. */
  readonly steps: readonly ScoredStep[];
}

/**
 * Reads evaluations of runs. Caches them, without texts and masks, by the title of the run and the size of its file.
 */
export class BoardReader {
  readonly #store: RunStore;
  readonly #known = new Map<
    string,
    { readonly size: number; readonly title: string; readonly steps: readonly ScoredStep[] }
  >();

  constructor(store: RunStore) {
    this.#store = store;
  }

  /** @throws LabError("bad-input") naming a damaged evaluation */
  async read(runs: readonly RunDigest[]): Promise<BoardEntry[]> {
    const entries: BoardEntry[] = [];
    for (const run of runs.filter(({ evaluated }) => evaluated.length > 0)) {
      const { id, title } = run.manifest;
      const size = (await this.#store.size(`${id}/eval.jsonl`)) ?? 0;
      let known = this.#known.get(id);
      if (known?.size !== size || known.title !== title) {
        const steps = (await readEvaluations(this.#store, id)).map((evaluation) => {
          const columns = EVAL_METRICS.map((metric) => [metric, runColumn(title, evaluation, metric)] as const);
          return { step: evaluation.report.step, columns: Object.fromEntries(columns) as ScoredStep["columns"] };
        });
        known = { size, title, steps };
        this.#known.set(id, known);
      }
      entries.push({ run, steps: known.steps });
    }
    return entries;
  }
}

interface Candidate {
  readonly line: Omit<BoardLine, "difference" | "better" | "worse">;
  readonly column: LedgerColumn;
  readonly start: LedgerColumn | undefined;
}

/** One board per set of rows; the board with the most runs comes first. */
export async function leaderboards(entries: readonly BoardEntry[], asked: BoardAsked): Promise<Board[]> {
  const groups = await grouped(entries, asked);
  const boards = [...groups].map(([hash, candidates]): Board => {
    const base = asked.base === null ? undefined : candidates.find(({ line }) => line.run === asked.base)?.column;
    const lines = candidates.map(({ line, column, start }) => {
      const other = asked.base === null ? start : base;
      return { ...line, ...(other === undefined || other === column ? ALONE : pairedWith(other, column)) };
    });
    const cells = candidates[0]?.column.cells ?? [];
    const pictures = new Set(cells.map(({ imageId }) => imageId)).size;
    return { hash, rows: cells.length, pictures, lines: lines.sort((a, b) => b.mean - a.mean) };
  });
  return boards.sort((a, b) => b.lines.length - a.lines.length);
}

/** One column per run, with its scores of the rows with this hash. */
export async function boardColumns(
  entries: readonly BoardEntry[],
  asked: BoardAsked,
  hash: string,
): Promise<LedgerColumn[]> {
  return ((await grouped(entries, asked)).get(hash) ?? []).map(({ column }) => column);
}

const ALONE = { difference: null, better: 0, worse: 0 };

async function grouped(
  entries: readonly BoardEntry[],
  { score, at }: BoardAsked,
): Promise<ReadonlyMap<string, readonly Candidate[]>> {
  const groups = new Map<string, Candidate[]>();
  for (const { run, steps } of entries) {
    const shown = at === "newest" ? steps.at(-1) : steps.find(({ step }) => step === run.best?.step);
    const column = shown?.columns[score];
    const mean = column === undefined ? null : meanOf(column);
    if (shown === undefined || column === undefined || mean === null) continue;
    const hash = await hashOf(column);
    const first = steps.find(({ step }) => step < shown.step)?.columns[score];
    const start = first !== undefined && (await hashOf(first)) === hash ? first : undefined;
    const { id, title } = run.manifest;
    const line = { run: id, title, step: shown.step, mean };
    addTo(groups, hash, { line, column, start });
  }
  return groups;
}

const hashOf = ({ cells }: LedgerColumn): Promise<string> =>
  rowsHash(cells.map(({ id, imageId }) => [id, imageId] as const));

/** Null where a row has no score. */
function meanOf({ cells }: LedgerColumn): number | null {
  const known = cells.flatMap(({ score }) => score ?? []);
  if (known.length === 0 || known.length < cells.length) return null;
  return known.reduce((sum, score) => sum + score, 0) / known.length;
}

/** Difference of two columns of the same rows. */
function pairedWith(before: LedgerColumn, after: LedgerColumn): Pick<BoardLine, "difference" | "better" | "worse"> {
  const changes = after.cells.map((cell, row) => (cell.score ?? 0) - (before.cells[row]?.score ?? Number.NaN));
  if (changes.some(Number.isNaN)) return ALONE;
  const images = after.cells.map(({ imageId }) => imageId);
  const { better, worse } = countChanges(changes.map((change) => ({ change })));
  return { difference: bootstrapMean(changes, images, REPORT_SEED), better, worse };
}
