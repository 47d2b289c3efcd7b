/** The difficulty of rows: rewards of groups that were sampled before the run (settings curriculum and zeroSpreadRows). */
import { isRecord, parseJson } from "../bytes/json.ts";
import type { LabConfig } from "../config/table.ts";
import { badInput } from "../errors.ts";
import { isLoop } from "../rl/loops/abouts.ts";
import type { RunStore } from "../storage/store.ts";
import type { LoopId } from "./rollouts/records.ts";

/** A measured row. */
export interface RowDifficulty {
  readonly rowId: string;
  readonly loop: LoopId;
  /** Mean reward of the group; the higher, the easier. */
  readonly reward: number;
  /** Whether all rewards of the group were equal. */
  readonly zeroSpread: boolean;
}

/** Whether a run needs measured rows. */
export function needsDifficulty({ curriculum, zeroSpreadRows }: Pick<LabConfig, "curriculum" | "zeroSpreadRows">) {
  return curriculum !== "off" || zeroSpreadRows === "skip";
}

/** Adds newer measurements, replacing those of the same row and loop. */
export function mergedDifficulty(known: readonly RowDifficulty[], newer: readonly RowDifficulty[]): RowDifficulty[] {
  return [...new Map([...known, ...newer].map((row) => [`${row.loop} ${row.rowId}`, row])).values()];
}

/** One line per row. */
export function difficultyText(rows: readonly RowDifficulty[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** @throws LabError("bad-input") naming the file for a line that is not a measured row */
export function parseDifficulty(text: string, file: string): RowDifficulty[] {
  return text.split("\n").flatMap((line) => {
    if (line.trim() === "") return [];
    const value = parseJson(line, file);
    if (isRecord(value)) {
      const { rowId, loop, reward, zeroSpread } = value;
      const known = typeof rowId === "string" && typeof reward === "number" && typeof zeroSpread === "boolean";
      if (known && typeof loop === "number" && isLoop(loop)) return [{ rowId, loop, reward, zeroSpread }];
    }
    throw badInput(`${file} has a line that is not the difficulty of a row`, file);
  });
}

const fileOf = (folder: string): string => `${folder}/difficulty.jsonl`;

/**
 * Stores the difficulty that a run started with.
 * @param folder folder of the run
 */
export async function keepDifficulty(store: RunStore, folder: string, rows: readonly RowDifficulty[]): Promise<void> {
  await store.write(fileOf(folder), difficultyText(rows));
}

/** The difficulty that a run started with; empty if it used none. */
export async function keptDifficulty(store: RunStore, folder: string): Promise<readonly RowDifficulty[]> {
  const file = fileOf(folder);
  return (await store.size(file)) === null ? [] : parseDifficulty(await store.readText(file), file);
}
