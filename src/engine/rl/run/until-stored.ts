/** Writes of a run that wait for room. */
import type { LabError } from "../../errors.ts";
import { StorageFull } from "../../storage/store.ts";
import type { Phase } from "./events.ts";
import type { RunControl } from "./run-control.ts";

/**
 * Writes; where the storage is full, the run pauses with its sentence, and writes again once the user goes on.
 * @param write may be repeated: what it wrote before it failed is replaced
 * @param phase in which the run pauses
 * @throws StorageFull when the run is being stopped; other errors of the write; LabError("cancelled") as RunControl.enter
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
      await control.enter(phase, null);
    }
  }
}
