import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";

/** Why the device cannot be measured now; null if it can. */
export function useBusy(): string | null {
  const ready = useSession((session) => session.gpu !== null && session.gpuError === null);
  const loading = useSession((session) => session.modelProgress !== null);
  const dry = useSession((session) => session.dryRun !== null);
  const active = useRun((run) => isActive(run.state));
  if (!ready) return "There is no GPU device";
  if (dry) return "A dry run is in progress; wait for it or cancel it";
  if (active) return "A run is in progress. Stop it first";
  return loading ? "A model is loading" : null;
}
