/**
 * Evaluations of the same rows in one table: one line per row, one column per evaluation, rows with the largest spread
 * first.
 */

import { badInput } from "../../engine/errors.ts";
import { tableCsv } from "../../engine/runs/csv.ts";
import { EVAL_METRICS, type EvalMetric, type StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import { type WrittenColumn, writeParquet } from "../exchange/parquet-write.ts";
import type { AnsweredItem, Suite } from "./suite.ts";

/** A row as one evaluation scored it. */
interface LedgerCell {
  readonly id: string;
  readonly imageId: string;
  readonly text: string;
  /** Null if single rows have no score. */
  readonly score: number | null;
}

/** One system of one evaluation. */
export interface LedgerColumn {
  /** Name of the evaluation and the system. */
  readonly name: string;
  readonly cells: readonly LedgerCell[];
}

interface LedgerRow extends Omit<LedgerCell, "score"> {
  /** Score by column. */
  readonly scores: readonly (number | null)[];
  /** Largest minus smallest score. */
  readonly spread: number;
}

/** A column of an evaluation suite. */
export function suiteColumn(name: string, suite: Suite, rows: readonly AnsweredItem[]): LedgerColumn {
  const cells = rows.map((row) => ({
    id: row.item.id,
    imageId: row.item.imageId,
    text: row.item.text,
    score: suite.score(row),
  }));
  return { name, cells };
}

/** Columns of the held-out evaluations of a run: the report rows of every step, one column per score. */
export function runColumns(name: string, evaluations: readonly StoredEvaluation[]): LedgerColumn[] {
  return EVAL_METRICS.flatMap((metric) => evaluations.map((evaluation) => runColumn(name, evaluation, metric)));
}

/** The report rows of one held-out evaluation. */
export function runColumn(name: string, { report, rows }: StoredEvaluation, metric: EvalMetric): LedgerColumn {
  return {
    name: `${name} step ${report.step} ${metric}`,
    cells: rows.flatMap((row) => {
      const { rowId: id, caption: text, part } = row;
      return part === "selection" ? [] : [{ id, imageId: row.imageId, text, score: row[metric] }];
    }),
  };
}

/** @throws LabError("bad-input") naming an evaluation of other rows */
export function ledgerRows(columns: readonly LedgerColumn[]): LedgerRow[] {
  const [first] = columns;
  if (first === undefined) return [];
  for (const { name, cells } of columns) {
    const same = cells.length === first.cells.length && cells.every((cell, at) => sameRow(cell, first.cells[at]));
    if (same) continue;
    throw badInput(`${name} was scored on other rows than ${first.name}; a table needs the same rows`, name);
  }
  const table = first.cells.map(({ id, imageId, text }, at): LedgerRow => {
    const scores = columns.map(({ cells }) => cells[at]?.score ?? null);
    const known = scores.filter((score) => score !== null);
    const spread = known.length === 0 ? 0 : Math.max(...known) - Math.min(...known);
    return { id, imageId, text, scores, spread };
  });
  return table.sort((a, b) => b.spread - a.spread);
}

/** The table as columns: row, picture, text, one column per score, spread. */
function ledgerTable(columns: readonly LedgerColumn[]): WrittenColumn[] {
  const rows = ledgerRows(columns);
  const texts = (name: string, read: (row: LedgerRow) => string): WrittenColumn => {
    return { name, values: rows.map(read), kind: "text" };
  };
  const numbers = (name: string, read: (row: LedgerRow) => number | null): WrittenColumn => {
    return { name, values: rows.map(read), kind: "number" };
  };
  return [
    texts("row", ({ id }) => id),
    texts("picture", ({ imageId }) => imageId),
    texts("text", ({ text }) => text),
    ...columns.map(({ name }, at) => numbers(name, ({ scores }) => scores[at] ?? null)),
    numbers("spread", ({ spread }) => spread),
  ];
}

export function ledgerCsv(columns: readonly LedgerColumn[]): string {
  const table = ledgerTable(columns);
  const lines = (table[0]?.values ?? []).map((_, at) => table.map(({ values }) => values[at] ?? ""));
  return tableCsv(
    table.map(({ name }) => name),
    lines,
  );
}

export function ledgerParquet(columns: readonly LedgerColumn[]): Uint8Array<ArrayBuffer> {
  return writeParquet(ledgerTable(columns), "sa2va-lab");
}

function sameRow(a: LedgerCell, b: LedgerCell | undefined): boolean {
  return a.id === b?.id && a.imageId === b.imageId && a.text === b.text;
}
