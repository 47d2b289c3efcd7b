/**
 * Keeps a run going when its device is lost (driver reset, GPU process killed): report it, open the device again, load the
 * weights, go on from the newest checkpoint. A second loss within a minute is no accident, so it pauses the run.
 */
import { LabError } from "../../errors.ts";

export type RunEnd = "finished" | "stopped";

/** Two losses closer together than this pause the run. */
const SPAN_SECONDS = 60;

export interface Recovery {
  /** The sentence of the loss, or undefined when the device is well. */
  readonly lost: () => Promise<string | undefined>;
  /** Makes everything anew on another device; the result runs on from what was stored. */
  readonly restore: (reason: string) => Promise<() => Promise<RunEnd>>;
  /** Leaves the run so that it can be resumed. */
  readonly pause: () => Promise<void>;
  /** Seconds, monotonic. */
  readonly now: () => number;
}

/**
 * @param first the run as it was begun
 * @throws what the run throws beside a loss; LabError("gpu") when the device is lost twice within a minute or cannot be
 *   opened again, with the run paused
 */
export async function runWithDeviceRecovery(first: () => Promise<RunEnd>, recovery: Recovery): Promise<RunEnd> {
  let lostAt = Number.NEGATIVE_INFINITY;
  for (let run = first; ; ) {
    try {
      return await run();
    } catch (thrown) {
      const reason = await recovery.lost();
      if (reason === undefined) throw thrown;
      const at = recovery.now();
      if (at - lostAt < SPAN_SECONDS) {
        await recovery.pause();
        throw new LabError(
          "gpu",
          `${reason}; it was the second time within a minute, so the run is paused and can be resumed from its last checkpoint`,
        );
      }
      lostAt = at;
      try {
        run = await recovery.restore(reason);
      } catch (failure) {
        await recovery.pause();
        const why = failure instanceof Error ? failure.message : String(failure);
        throw new LabError(
          "gpu",
          `${reason}, and work could not begin again: ${why}; the run is paused and can be resumed from its last checkpoint`,
        );
      }
    }
  }
}
