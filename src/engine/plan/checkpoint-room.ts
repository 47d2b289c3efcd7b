/** Checks that the checkpoints of a run fit into storage. */
import type { LabConfig } from "../config/table.ts";
import { bytesText } from "./bytes-text.ts";

type Schedule = Pick<LabConfig, "steps" | "saveSteps" | "saveTotalLimit" | "evalSteps">;

/** Checkpoints beyond `saveTotalLimit`: the one being written, and the best one of evaluated runs. */
function beside({ evalSteps }: Schedule): number {
  return evalSteps > 0 ? 2 : 1;
}

/** Maximum checkpoints of a run in the store at once. */
export function checkpointsAtOnce(config: Schedule): number {
  const { steps, saveSteps, saveTotalLimit } = config;
  const written = saveSteps === 0 ? 1 : Math.ceil(steps / saveSteps);
  return Math.min(saveTotalLimit + beside(config), written);
}

/**
 * A sentence with numbers and a remedy if the run's checkpoints will not fit; null otherwise. Only a warning: browsers
 * report storage imprecisely, and space can be freed during the run.
 * @param checkpointBytes bytes of one checkpoint
 * @param free free bytes; Infinity without a limit
 */
export function checkpointRoomWarning(config: Schedule, checkpointBytes: number, free: number): string | null {
  const count = checkpointsAtOnce(config);
  const needed = count * checkpointBytes;
  if (needed <= free) return null;
  const { saveTotalLimit } = config;
  const which =
    count === 1
      ? "the final one"
      : count < saveTotalLimit + beside(config)
        ? `${count} of ${bytesText(checkpointBytes)}, all it writes`
        : `${count} of ${bytesText(checkpointBytes)}: ${saveTotalLimit} kept${config.evalSteps > 0 ? ", the best one" : ""} and one being written`;
  return `The run's checkpoints take up to ${bytesText(needed)} at once (${which}), and the storage has ${bytesText(Math.max(0, free))} free; ${remedy(config, Math.floor(free / checkpointBytes))}`;
}

/** @param fitting number of checkpoints that fit */
function remedy(config: Schedule, fitting: number): string {
  const { steps } = config;
  const more = beside(config);
  if (fitting > more) return `set saveTotalLimit to ${fitting - more}, or delete stored runs`;
  if (fitting > 1)
    return `set saveSteps to ${Math.ceil(steps / fitting)} or more, or to 0 for one at the end, or delete stored runs`;
  if (fitting === 1) return "set saveSteps to 0, which saves only at the end, or delete stored runs";
  return "not even one fits, so delete stored runs or models first";
}
