/**
 * One cache of what is read of run folders. A read is kept until something makes it outdated; what is in view is then read
 * again, and stays in view meanwhile.
 */
import { useCallback, useSyncExternalStore } from "react";
import { toLabError } from "../../engine/errors.ts";
import type { TrainerEvent } from "../../engine/rl/run/events.ts";

/** Something to read. Reads of one key are the same read. */
export interface Read<T> {
  /** Words, each followed by a space, so that one key begins another only at a word. */
  readonly key: string;
  readonly read: () => Promise<T>;
  /** Whether only the page's events change it; else it is read again when it comes into view, as another tab may have written. */
  readonly lasting?: true;
}

/** The list of runs, and the parts of one. */
type Part = "runs" | "run" | "groups" | "evaluations" | "alarms";

/** Key of a part, or the beginning of the keys of its own parts. */
export function readKey(part: Part, ...of: readonly (string | number)[]): string {
  return [part, ...of].map((word) => `${word} `).join("");
}

export interface ReadState<T> {
  /** The newest result; undefined before the first read and after a failure. */
  readonly value: T | undefined;
  /** The same, kept after a failure. */
  readonly last: T | undefined;
  /** Why the newest read failed. */
  readonly problem: string | null;
  /** Nothing has been read yet. */
  readonly loading: boolean;
}

interface Entry {
  readonly read: () => Promise<unknown>;
  shown: ReadState<unknown>;
  /** Whether nothing has changed since the newest read began. */
  fresh: boolean;
  reading: Promise<unknown> | null;
  readonly users: Set<() => void>;
}

/** Reads kept besides those in view; a step's groups take one. */
const MOST = 600;

export const NOTHING = { value: undefined, last: undefined, problem: null, loading: false };
const UNREAD = { ...NOTHING, loading: true };

/** From least to most recently used. */
const entries = new Map<string, Entry>();

function entryOf({ key, read }: Read<unknown>): Entry {
  const entry = entries.get(key) ?? { read, shown: UNREAD, fresh: false, reading: null, users: new Set() };
  entries.delete(key);
  entries.set(key, entry);
  if (entries.size > MOST) {
    const unused = [...entries].find(([other, { users, reading }]) => other !== key && users.size === 0 && !reading);
    if (unused !== undefined) entries.delete(unused[0]);
  }
  return entry;
}

/** Begins a read unless one is in progress or there is nothing new to read; a failed one is tried again. */
function refresh(entry: Entry): void {
  if (entry.reading !== null || (entry.fresh && entry.shown.problem === null)) return;
  entry.fresh = true;
  const reading = entry.read();
  entry.reading = reading;
  const settle = (shown: Omit<ReadState<unknown>, "loading">): void => {
    entry.reading = null;
    entry.shown = { ...shown, loading: false };
    for (const changed of entry.users) changed();
    if (!entry.fresh && entry.users.size > 0) refresh(entry);
  };
  reading.then(
    (value) => settle({ value, last: value, problem: null }),
    (thrown: unknown) => settle({ value: undefined, last: entry.shown.last, problem: toLabError(thrown).message }),
  );
}

/** What a read gives now: what is kept of it, or a new read. @throws what the read throws */
export async function readOnce<T>(read: Read<T>): Promise<T> {
  const entry = entryOf(read);
  // Something has changed since that read began, so it is waited for and repeated.
  if (entry.reading !== null && !entry.fresh) await Promise.allSettled([entry.reading]);
  refresh(entry);
  return (await (entry.reading ?? entry.shown.value)) as T;
}

/** What a read gives, as it changes. @param read null reads nothing */
export function useRead<T>(read: Read<T> | null): ReadState<T> {
  const key = read?.key;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key determines the read
  const subscribe = useCallback(
    (changed: () => void) => {
      if (read === null) return () => undefined;
      const entry = entryOf(read);
      if (entry.users.size === 0 && read.lasting !== true) entry.fresh = false;
      entry.users.add(changed);
      refresh(entry);
      return () => void entry.users.delete(changed);
    },
    [key],
  );
  const state = useSyncExternalStore(subscribe, () =>
    key === undefined ? NOTHING : (entries.get(key)?.shown ?? UNREAD),
  );
  return state as ReadState<T>;
}

/** Marks reads whose keys begin so as outdated. */
export function outdate(...starts: readonly string[]): void {
  for (const [key, entry] of entries) {
    if (!starts.some((start) => key.startsWith(start))) continue;
    entry.fresh = false;
    if (entry.users.size > 0) refresh(entry);
  }
}

/** The folder of a run has changed, or is gone. */
export function outdateRun(id: string): void {
  outdate(readKey("runs"), ...(["run", "groups", "evaluations", "alarms"] as const).map((part) => readKey(part, id)));
}

/** What an event of the trainer changes in the folder of its run. */
export function outdateBy(event: TrainerEvent, id: string): void {
  const run = [readKey("runs"), readKey("run", id)];
  if (event.type === "state" || event.type === "checkpoint") outdate(...run);
  // After a lost device a step is done again.
  if (event.type === "step") outdate(readKey("groups", id, event.step));
  if (event.type === "eval") outdate(readKey("evaluations", id), ...run);
  if (event.type === "alarm") outdate(readKey("alarms", id));
}
