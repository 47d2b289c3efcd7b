/**
 * Recovers a run from a lost device (driver reset, GPU process killed): reports it, opens the device again, loads the
 * weights and continues from the newest checkpoint. A second loss within a minute pauses the run.
 */
import { LabError } from "../../errors.ts";

export type RunEnd = "finished" | "stopped";

/** Minimum seconds between two losses that are recovered. */
const SPAN_SECONDS = 60;

export interface Recovery {
  /** The message if the device is lost, else undefined. */
  readonly lost: () => Promise<string | undefined>;
  /** Rebuilds everything on another device; the result continues from the stored state. */
  readonly restore: (reason: string) => Promise<() => Promise<RunEnd>>;
  /** Pauses the run so that it can be resumed. */
  readonly pause: () => Promise<void>;
  /** Seconds, monotonic. */
  readonly now: () => number;
}

/**
 * @param first the run as started
 * @throws errors of the run other than a loss; LabError("gpu") when the device is lost twice within a minute or cannot be
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
          `${reason}; it is the second loss within a minute, so the run is paused and can be resumed from its last checkpoint`,
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
          `${reason}, and recovery failed: ${why}; the run is paused and can be resumed from its last checkpoint`,
        );
      }
    }
  }
}
