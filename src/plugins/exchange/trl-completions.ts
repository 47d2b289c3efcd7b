/**
 * The completions that TRL's trainers log (`log_completions`): `completions/completions_<step>.parquet` with the columns
 * step, prompt, completion, one per reward function, those that reward functions log, and advantage, in this order.
 */

import type { ByteSource } from "../../engine/bytes/source.ts";
import { pickedFolder } from "../../engine/data/blob-source.ts";
import { openParquet } from "../../engine/data/parquet/table.ts";
import { type Cell, isBinaryCell } from "../../engine/data/tables/table.ts";
import { badInput } from "../../engine/errors.ts";
import { type ExportFiles, type ExportFormat, wholeFile } from "../../engine/export/export-file.ts";
import type { RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";
import { withVisualTokens } from "../../engine/text/prompt.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { Completion, Completions } from "./completions.ts";
import { type WrittenColumn, writeParquet } from "./parquet-write.ts";

export const trlCompletions: ExportFormat = { uses: [], files: completionFiles };

/** Folder and file name that TRL gives the completions of a step. */
const pathOf = (step: number): string => `completions/completions_${String(step).padStart(5, "0")}.parquet`;

async function* completionFiles(run: RunFolder): ExportFiles {
  const steps = await run.groupSteps();
  const names = new Set<string>();
  for (const step of steps)
    for (const { rollouts } of await run.readGroups(step))
      for (const { terms } of rollouts) for (const { name } of terms) names.add(name);
  let written = 0;
  for (const step of steps) {
    const rollouts = (await run.readGroups(step)).flatMap((group) => group.rollouts);
    // A supervised step has none.
    if (rollouts.length === 0) continue;
    written++;
    yield wholeFile(pathOf(step), writeParquet(columnsOf(rollouts, [...names]), "sa2va-lab"));
  }
  if (written === 0)
    throw badInput(`The run ${run.id} stored no rollouts, so there are no completions to export`, run.id);
}

/** Every file has the same columns, so that they open as one data set. @param terms reward terms of the run */
function columnsOf(rollouts: readonly RolloutRecord[], terms: readonly string[]): WrittenColumn[] {
  const whole = (name: string, of: (own: RolloutRecord) => number): WrittenColumn => ({
    ...{ name, kind: "whole", values: rollouts.map(of) },
  });
  const number = (name: string, of: (own: RolloutRecord) => number | null): WrittenColumn => ({
    ...{ name, kind: "number", values: rollouts.map(of) },
  });
  const text = (name: string, of: (own: RolloutRecord) => string | null): WrittenColumn => ({
    ...{ name, kind: "text", values: rollouts.map(of) },
  });
  return [
    whole("step", ({ step }) => step),
    text("prompt", ({ prompt }) => withVisualTokens(prompt)),
    text("completion", ({ completion }) => completion),
    ...terms.map((term) => number(term, (own) => own.terms.find(({ name }) => name === term)?.value ?? null)),
    number("reward", ({ reward }) => reward),
    whole("loop", ({ loop }) => loop),
    whole("group", ({ group }) => group),
    text("row_id", ({ rowId }) => rowId),
    text("caption", ({ caption }) => caption),
    text("caption_prime", ({ captionPrime }) => captionPrime),
    text("reference_caption", ({ referenceCaption }) => referenceCaption),
    number("advantage", ({ advantage }) => advantage),
  ];
}

/** Completions of a file that are read; TRL writes a few hundred. */
const MOST_ROWS = 20_000;
/** Columns that are not numbers of a reward function. */
const NEEDED = ["step", "prompt", "completion"];
const OTHERS = new Set([...NEEDED, "advantage", "loop", "group"]);

/**
 * Completions of a run's files, by step. Columns of numbers that TRL does not name are rewards.
 * @throws LabError("bad-input") naming the file and the column that it lacks
 */
export async function readCompletions(sources: readonly ByteSource[], name: string): Promise<Completions> {
  const rows: Completion[] = [];
  const rewards = new Set<string>();
  for (const source of sources) {
    const table = await openParquet(source);
    const at = (column: string): number => table.columns.findIndex((own) => own.name === column);
    const lacking = NEEDED.filter((column) => at(column) < 0);
    const head = `${source.name} is not a file of TRL's completions`;
    if (lacking.length > 0) throw badInput(`${head}: it has no column ${lacking.join(", ")}`, source.name);
    if (table.problem !== undefined) throw badInput(`${source.name}: ${table.problem}`, source.name);
    if (rows.length + table.rows > MOST_ROWS)
      throw badInput(`${name} has more than ${MOST_ROWS} completions; open fewer steps`, source.name);
    for (let row = 0; row < table.rows; row++) {
      const cells = new Map<string, Cell>();
      for (const [index, column] of table.columns.entries()) cells.set(column.name, await table.cell(index, row));
      const numbers = [...cells].flatMap(([column, cell]) => {
        const value = numberOf(cell);
        return OTHERS.has(column) || value === null ? [] : [[column, value] as const];
      });
      for (const [column] of numbers) rewards.add(column);
      const step = numberOf(cells.get("step"));
      if (step === null) throw badInput(`${head}: row ${row + 1} has no step`, source.name);
      rows.push({
        step,
        prompt: textOf(cells.get("prompt")),
        completion: textOf(cells.get("completion")),
        rewards: Object.fromEntries(numbers),
        advantage: numberOf(cells.get("advantage")),
      });
    }
  }
  if (rows.length === 0) throw badInput(`${name} holds no completions`, name);
  return { name, rewards: [...rewards], rows: rows.sort((a, b) => a.step - b.step) };
}

function numberOf(cell: Cell | undefined): number | null {
  if (typeof cell === "bigint") return Number(cell);
  return typeof cell === "number" && Number.isFinite(cell) ? cell : null;
}

/** A text, or the texts of a conversation's messages below each other. */
function textOf(cell: Cell | undefined): string {
  if (typeof cell === "string") return cell;
  if (Array.isArray(cell)) return (cell as readonly Cell[]).map(textOf).filter(Boolean).join("\n");
  if (cell === null || typeof cell !== "object" || isBinaryCell(cell)) return "";
  const { content, text } = cell as { readonly content?: Cell; readonly text?: Cell };
  return textOf(content ?? text);
}

export const completionCalls = () => ({
  /** Completions in files of one run. @throws LabError("bad-input") as `readCompletions` */
  async completions(
    files: readonly { readonly path: string; readonly file: Blob }[],
    name: string,
  ): Promise<Completions> {
    const folder = pickedFolder(files);
    return readCompletions(
      folder.paths.flatMap((path) => folder.get(path) ?? []),
      name,
    );
  },
});

export type CompletionCalls = CallsOf<typeof completionCalls>;
