/** Files of a run folder with one entry per line, oldest first: metrics, costs, alarms and evaluations. */
import { badInput } from "../errors.ts";
import type { RunStore } from "../storage/store.ts";

interface LineForm<T> {
  /** Name in the run folder. */
  readonly file: string;
  readonly format: (entry: T) => string;
  /**
   * @param place file and line, for messages
   * @returns undefined for a line that is skipped
   * @throws LabError("bad-input") naming a line that is damaged
   */
  readonly parse: (line: string, place: string) => T | undefined;
  readonly stepOf: (entry: T) => number;
  /** Whether every step has at most one line, in order. */
  readonly ascending?: boolean;
  /** Whether the file is only written whole, so that its last line needs no line break. */
  readonly whole?: boolean;
  /** Whether a new run has the file, which then stays without entries. */
  readonly stays?: boolean;
}

export interface RunLines<T> {
  append(store: RunStore, runId: string, entry: T): Promise<void>;
  /** Entries so far; empty when there is no file. @throws LabError("bad-input") naming a line that is damaged */
  read(store: RunStore, runId: string): Promise<readonly T[]>;
  /** Replaces all entries. */
  write(store: RunStore, runId: string, entries: readonly T[]): Promise<void>;
  /** Removes the entries of later steps; other lines are kept unchanged. @throws LabError like `read` */
  truncateAfter(store: RunStore, runId: string, step: number): Promise<void>;
}

/** Reads and writes a file of this form. In a file that grows, a last line that a crash truncated is no entry. */
export function runLines<T>(form: LineForm<T>): RunLines<T> {
  const { file, format, parse, stepOf, ascending = false, whole = false, stays = false } = form;
  const pathOf = (runId: string): string => `${runId}/${file}`;
  const entriesOf = (text: string, path: string): { readonly line: string; readonly entry: T }[] => {
    const lines = text.split("\n");
    if (!whole || lines.at(-1) === "") lines.pop();
    let before = -1;
    return lines.flatMap((line, n) => {
      if (whole && line === "") return [];
      const place = `${path} line ${n + 1}`;
      const entry = parse(line, place);
      if (entry === undefined) return [];
      const step = stepOf(entry);
      if (ascending && step <= before) {
        throw badInput(`${place} has step ${step} after step ${before}; the file is kept`, path);
      }
      before = step;
      return [{ line, entry }];
    });
  };
  const textOf = async (store: RunStore, path: string): Promise<string> =>
    (await store.size(path)) === null ? "" : store.readText(path);
  const replace = async (store: RunStore, path: string, lines: readonly string[]): Promise<void> => {
    if (lines.length === 0 && !stays) await store.remove(path);
    else await store.write(path, lines.map((line) => `${line}\n`).join(""));
  };
  return {
    append: (store, runId, entry) => store.append(pathOf(runId), `${format(entry)}\n`),
    read: async (store, runId) => {
      const path = pathOf(runId);
      return entriesOf(await textOf(store, path), path).map(({ entry }) => entry);
    },
    write: (store, runId, entries) => replace(store, pathOf(runId), entries.map(format)),
    truncateAfter: async (store, runId, step) => {
      const path = pathOf(runId);
      const text = await textOf(store, path);
      const kept = entriesOf(text, path).flatMap(({ line, entry }) => (stepOf(entry) <= step ? [line] : []));
      if (kept.map((line) => `${line}\n`).join("") !== text) await replace(store, path, kept);
    },
  };
}
