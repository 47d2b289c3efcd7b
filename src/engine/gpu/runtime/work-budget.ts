/**
 * Limits on the work of one dispatch and one submit, and on how far the host records ahead of the GPU. Windows resets the driver after a submit of two seconds, and a
 * long dispatch freezes the desktop (docs/spec/webgpu.md#9-errors-loss-watchdogs: a dispatch below 0.1 s, a submit
 * below 0.5 s). The limits are in multiply-adds, the same on every adapter, because splits by measured speed would not
 * be repeatable. At 0.1 TFLOP/s, a slow integrated GPU, they are 43 ms and 0.34 s.
 */
import { LabError } from "../../errors.ts";
import { type Tensor, tf } from "../tf.ts";
import { workInFlight } from "./counters.ts";
import { memoryExceeded } from "./pool.ts";
import { flushBackend, MAX_GROUPS } from "./program.ts";

/** Maximum multiply-adds of one dispatch, as far as runs of 64 rows allow. */
export const DISPATCH_WORK = 2 ** 31;
/** Multiply-adds after which the recorded commands are submitted. */
const SUBMIT_WORK = 8 * DISPATCH_WORK;

/** Chunks are multiples of this many rows, so that their byte offsets are aligned for bindings. */
const ROW_STEP = 64;
/** Rows that a grid covers if each workgroup processes eight, the fewest of any form. */
const GRID_ROWS = 8 * MAX_GROUPS;

let budget = DISPATCH_WORK;

/** For tests: sets the maximum work of a dispatch. */
export function setDispatchWork(work: number = DISPATCH_WORK): void {
  budget = work;
}

/** The current limit of a dispatch. */
export function dispatchWork(): number {
  return budget;
}

export interface RowRange {
  readonly from: number;
  readonly count: number;
}

/**
 * Splits the rows of a product into runs within the budget and a grid, of nearly equal size; one run if it is small.
 * @param perRow multiply-adds per row
 * @param least every run starts at a multiple of this number and has at least as many rows
 */
export function rowRuns(rows: number, perRow: number, least = ROW_STEP): RowRange[] {
  const most = Math.max(least, Math.floor(Math.min(GRID_ROWS, budget / Math.max(1, perRow)) / least) * least);
  if (rows <= most) return [{ from: 0, count: rows }];
  const step = Math.ceil(rows / Math.ceil(rows / most) / least) * least;
  return Array.from({ length: Math.ceil(rows / step) }, (_, run) => {
    const from = run * step;
    return { from, count: Math.min(step, rows - from) };
  });
}

let pending = 0;
let counted = 0;

/** Multiply-adds of all heavy dispatches since this thread began. */
export function workCounted(): number {
  return counted;
}

/** Call it after a heavy dispatch is recorded; submits once enough work is recorded. */
export function countWork(multiplyAdds: number): void {
  pending += multiplyAdds;
  counted += multiplyAdds;
  if (pending < (SUBMIT_WORK / DISPATCH_WORK) * budget) return;
  pending = 0;
  flushBackend();
}

/** Maximum submits in flight between the parts of a long recording. */
export const SUBMITS_AHEAD = 4;

/**
 * A long recording, such as a tower: yields after every part, where the host may wait for the GPU. Results do not depend
 * on the waits.
 */
export type Paced<T> = Generator<void, T>;

/** Records everything without a wait, as a tape needs it. */
export function atOnce<T>(parts: Paced<T>): T {
  for (;;) {
    const { done, value } = parts.next();
    if (done === true) return value;
  }
}

/**
 * A tidy around the parts of a recording, which may wait in between: frees the tensors that the parts made, except those
 * of the result, which belong to the caller or its tidy.
 *
 * Touches a private member of tfjs-core 4.22.0, the engine's `state.activeScope`; tests/gpu/pace.test.ts guards it.
 */
export function* tidied<T extends tf.TensorContainer>(parts: () => Paced<T>): Paced<T> {
  const engine = tf.engine();
  const { state } = engine as unknown as { readonly state: { readonly activeScope: { readonly track: Tensor[] } } };
  const made = new Set<Tensor>();
  const recording = parts();
  const kept = new Set<Tensor>();
  try {
    for (;;) {
      engine.startScope("part");
      let step: IteratorResult<void, T>;
      try {
        step = recording.next();
      } finally {
        const own = state.activeScope.track.filter(({ isDisposed }) => !isDisposed);
        for (const tensor of own) made.add(tensor);
        engine.endScope(own);
      }
      if (step.done === true) {
        for (const tensor of tf.tensor_util.getTensorsInContainer(step.value)) kept.add(tensor);
        return step.value;
      }
      yield;
    }
  } finally {
    recording.return(undefined as never);
    // A tape keeps what it needs.
    for (const tensor of made) if (!kept.has(tensor) && !tensor.kept) tensor.dispose();
  }
}

/**
 * Records the parts in turn and waits for the GPU between them, see `keepPace`. Call it outside tidies.
 * @throws LabError("cancelled") when the signal is aborted; the recording then frees what it holds
 */
export async function inPace<T>(parts: Paced<T>, signal?: AbortSignal): Promise<T> {
  try {
    for (;;) {
      const { done, value } = parts.next();
      if (done === true) {
        await waitIfAhead();
        return value;
      }
      await keepPace(signal);
    }
  } finally {
    // Of no effect after the last part.
    parts.return(undefined as never);
  }
}

let waits = 0;

/** Waits for the GPU since this thread began, besides those for what is read back. */
export function waitsCounted(): number {
  return waits;
}

/** Waits until the GPU has finished everything so far: then it uses neither destroyed buffers nor free ones. */
export async function gpuFinished(): Promise<void> {
  const inFlight = workInFlight();
  if (inFlight === undefined) return;
  waits++;
  flushBackend();
  await inFlight.finished();
}

/**
 * Call it between the parts of a long recording. Waits for the GPU when more than `SUBMITS_AHEAD` submits are unfinished,
 * or when the plan leaves little room without a wait.
 * @throws LabError("cancelled") when the signal is aborted, also before the wait is over: the GPU may need seconds for what
 * is submitted
 */
export async function keepPace(signal?: AbortSignal): Promise<void> {
  await untilAborted(waitIfAhead(), signal);
  if (signal?.aborted === true) throw new LabError("cancelled", "The computation was stopped");
}

/** Resolves with the wait, or when the signal is aborted. */
async function untilAborted(wait: Promise<void>, signal?: AbortSignal): Promise<void> {
  if (signal === undefined) return wait;
  let aborted: () => void = () => undefined;
  const abort = new Promise<void>((resolve) => {
    aborted = resolve;
  });
  signal.addEventListener("abort", aborted);
  if (signal.aborted) aborted();
  await Promise.race([wait, abort]).finally(() => signal.removeEventListener("abort", aborted));
}

async function waitIfAhead(): Promise<void> {
  if ((workInFlight()?.submits ?? 0) > SUBMITS_AHEAD || memoryExceeded()) await gpuFinished();
}
