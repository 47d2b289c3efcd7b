/** How the folder of a run that cannot go on is marked. */
import { LabError, toLabError } from "../../errors.ts";
import type { RunFolder } from "../../runs/run-folder.ts";

/**
 * Marks a run as failed.
 * @returns what is to be thrown: the failure, or both sentences in one where not even the mark could be written
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
