/** Starts forks in the trainer. What the page's form needs is in fork.ts, which loads no code for a GPU. */
import type { Lab, StartedRun } from "../../engine/rl/run/lab.ts";
import { type PreparedRun, prepareStored } from "../../engine/rl/run/start/prepare-run.ts";
import { rowsOfSameRun, runId } from "../../engine/rl/run/start/run-facts.ts";
import { openRun } from "../../engine/runs/run-folder.ts";
import type { RowList } from "../../engine/runs/run-rows.ts";
import type { Session } from "../../engine/session/session.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { RowSelection } from "../../protocol/trainer.ts";
import { type Fork, forkRun } from "./fork.ts";

/**
 * Copies a stored run up to a checkpoint and opens the copy.
 * @throws LabError like `prepareStored`, or naming a setting that a fork cannot change; a copy that cannot start is
 * removed
 */
export async function prepareFork(
  lab: Lab,
  parent: string,
  list: RowList,
  asked: Omit<Fork, "id">,
  source = lab.store,
): Promise<PreparedRun> {
  const id = runId(asked.title, asked.created);
  // Before the copy, so that an error of the rows names the run that exists.
  await rowsOfSameRun((await openRun(source, parent)).manifest(), lab.hash, list);
  await forkRun(source, parent, { ...asked, id }, lab.store);
  try {
    return await prepareStored(lab, id, list);
  } catch (thrown) {
    // The first error is reported. What is left can be deleted.
    await lab.store.remove(id).catch(() => undefined);
    throw thrown;
  }
}

/**
 * Continues a copy of a stored run from one of its checkpoints; the parent does not change.
 * @param source store of the parent, if it is not the session's
 * @throws LabError like `Session.start`, or naming a setting that a fork cannot change; a fork that cannot start is removed
 */
export function startFork(
  session: Session,
  parent: string,
  list: RowList,
  asked: Omit<Fork, "id">,
  source?: RunStore,
): Promise<StartedRun> {
  return session.launch((lab) => prepareFork(lab, parent, list, asked, source));
}

export const forkCalls = (place: () => Promise<TrainerPlace>) => ({
  /** Continues a copy of a stored run from one of its checkpoints. */
  async forkRun(run: string, list: RowSelection, fork: Omit<Fork, "id">) {
    const { lab, elsewhere, watch } = await place();
    return watch(await startFork(lab, run, list, fork, await elsewhere(run)));
  },
});

export type ForkCalls = CallsOf<typeof forkCalls>;
