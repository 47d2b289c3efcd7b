/** Marks the folder of a failed run. */
import { LabError, toLabError } from "../../errors.ts";
import type { RunFolder } from "../../runs/run-folder.ts";

/**
 * Marks a run as failed.
 * @returns the error to throw: the failure, or both messages if the mark could not be written
 */
export async function failedRun(run: RunFolder, failure: unknown): Promise<unknown> {
  try {
    await run.update({ state: "failed" });
    return failure;
  } catch (thrown) {
    const { code, message, subject } = toLabError(failure);
    const why = toLabError(thrown, "storage").message;
    return new LabError(code, `${message}; and the run could not be marked as failed: ${why}`, {
      ...(subject === undefined ? {} : { subject }),
      cause: failure,
    });
  }
}
