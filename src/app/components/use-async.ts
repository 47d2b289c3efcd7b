import { useEffect, useState } from "react";
import { toLabError } from "../../engine/errors.ts";
import { NOTHING, type ReadState } from "../stores/reads.ts";

export interface Async<T> extends ReadState<T> {
  /** Whether a read is in progress. */
  readonly busy: boolean;
}

type Result<T> = Omit<ReadState<T>, "loading">;

/**
 * The result of `load` for a subject. A new subject starts without a value; a change in `again` reads the same subject
 * again and keeps the old value meanwhile. A newer read aborts the signal of the earlier one and drops its result.
 * @param subject compared by identity; null reads nothing
 * @param again a list of fixed length
 */
export function useAsync<S, T>(
  subject: S | null,
  load: (subject: S, signal: AbortSignal) => Promise<T>,
  again: readonly unknown[] = [],
): Async<T> {
  const [read, setRead] = useState<{ readonly subject: S; readonly result: Result<T> }>();
  const [busy, setBusy] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the subject and `again` determine `load`
  useEffect(() => {
    if (subject === null) return;
    const stop = new AbortController();
    const settle = (result: (last: T | undefined) => Result<T>): void => {
      if (stop.signal.aborted) return;
      setRead((before) => ({ subject, result: result(before?.subject === subject ? before.result.last : undefined) }));
      setBusy(false);
    };
    setBusy(true);
    load(subject, stop.signal).then(
      (value) => settle(() => ({ value, last: value, problem: null })),
      (thrown: unknown) => settle((last) => ({ value: undefined, last, problem: toLabError(thrown).message })),
    );
    return () => stop.abort();
  }, [subject, ...again]);
  const known = subject !== null && read?.subject === subject ? read.result : undefined;
  return { ...(known ?? NOTHING), loading: subject !== null && known === undefined, busy };
}

interface Box {
  readonly width: number;
  readonly height: number;
  readonly ratio: number;
}

/** CSS size of an element, within its border, while it is on or near the screen, else null. */
export function useVisibleBox(element: { readonly current: HTMLElement | null }): Box | null {
  const [box, setBox] = useState<Box | null>(null);
  useEffect(() => {
    const target = element.current;
    if (target === null) return;
    let visible = false;
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = target;
      setBox((before) => {
        if (!visible || width === 0 || height === 0) return null;
        const ratio = window.devicePixelRatio;
        const same = before?.width === width && before.height === height && before.ratio === ratio;
        return same ? before : { width, height, ratio };
      });
    };
    const sight = new IntersectionObserver(
      (entries) => {
        visible = entries.some((entry) => entry.isIntersecting);
        measure();
      },
      { rootMargin: "200px" },
    );
    const size = new ResizeObserver(measure);
    sight.observe(target);
    size.observe(target);
    return () => {
      sight.disconnect();
      size.disconnect();
    };
  }, [element]);
  return box;
}
