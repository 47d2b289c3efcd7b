import { useEffect, useState } from "react";
import { toLabError } from "../../engine/errors.ts";

export interface Async<T> {
  /** Newest result for the subject; undefined before the first one and after a failure. */
  readonly value: T | undefined;
  /** Why the newest read failed. */
  readonly problem: string | null;
  /** Nothing has been read for the subject yet. */
  readonly loading: boolean;
  /** Whether a read is in progress. */
  readonly busy: boolean;
}

const NOTHING = { value: undefined, problem: null };

/**
 * What `load` gives for a subject. A new subject starts from nothing; a change in `again` reads the same subject again
 * and keeps the old value until then. Results of a read that was overtaken are dropped, and its signal aborts.
 * @param subject compared by identity; null reads nothing
 * @param again a list of fixed length
 */
export function useAsync<S, T>(
  subject: S | null,
  load: (subject: S, signal: AbortSignal) => Promise<T>,
  again: readonly unknown[] = [],
): Async<T> {
  const [read, setRead] = useState<{ readonly subject: S; readonly result: Pick<Async<T>, "value" | "problem"> }>();
  const [busy, setBusy] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `load` is what the subject and `again` determine
  useEffect(() => {
    if (subject === null) return;
    const stop = new AbortController();
    const settle = (result: Pick<Async<T>, "value" | "problem">): void => {
      if (stop.signal.aborted) return;
      setRead({ subject, result });
      setBusy(false);
    };
    setBusy(true);
    load(subject, stop.signal).then(
      (value) => settle({ value, problem: null }),
      (thrown: unknown) => settle({ value: undefined, problem: toLabError(thrown).message }),
    );
    return () => stop.abort();
  }, [subject, ...again]);
  const known = subject !== null && read?.subject === subject ? read.result : undefined;
  return { ...(known ?? NOTHING), loading: subject !== null && known === undefined, busy };
}
