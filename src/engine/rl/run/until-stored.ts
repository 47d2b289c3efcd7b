/** Writes of a run that wait for room. */
import type { LabError } from "../../errors.ts";
import { StorageFull } from "../../storage/store.ts";
import type { Phase } from "./events.ts";
import type { RunControl } from "./run-control.ts";

/**
 * Writes. If the storage is full, the run pauses with the error's sentence and writes again once the user continues. A
 * stop tries once more, because a partly stored step would leave a gap.
 * @param write repeatable: it replaces what a failed attempt wrote
 * @param phase phase in which the run pauses
 * @throws StorageFull if there is still no room after a stop; other errors of the write
 */
export async function untilStored<T>(
  write: () => Promise<T>,
  phase: Phase,
  control: RunControl,
  tell: (error: LabError) => void,
): Promise<T> {
  while (true) {
    try {
      return await write();
    } catch (thrown) {
      if (!(thrown instanceof StorageFull) || control.signal.aborted) throw thrown;
      control.pause();
      tell(thrown);
      await control.enter(phase, null).catch((stopped: unknown) => {
        if (!control.signal.aborted) throw stopped;
      });
    }
  }
}
