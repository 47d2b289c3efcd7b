/** Stores alarms with the run and reports them to listeners. */
import { type Alarm, appendAlarm } from "../../runs/alarms.ts";
import type { RunFolder } from "../../runs/run-folder.ts";
import type { TrainerEvent } from "./events.ts";

export async function raiseAlarm(
  run: Pick<RunFolder, "id" | "store">,
  emit: (event: TrainerEvent) => void,
  alarm: Alarm,
): Promise<void> {
  await appendAlarm(run.store, run.id, alarm);
  emit({ type: "alarm", alarm });
}
