import { isActive, useRun } from "../../../stores/run/run.ts";
import { useSession } from "../../../stores/session.ts";

/** Why the model cannot answer now, or null. */
export function useModelBlocker(): string | null {
  const model = useSession((session) => session.model);
  const loading = useSession((session) => session.modelProgress);
  const state = useRun((run) => run.state);
  if (loading !== null) return "The model is still loading";
  if (model === null) return "No model is loaded. Open a checkpoint folder first";
  if (isActive(state) && state !== "paused") return "A run is in progress. Pause it to try the model";
  return null;
}
