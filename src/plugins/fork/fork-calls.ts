/** The call of the trainer that starts a fork. */
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { RowSelection } from "../../protocol/trainer.ts";
import { type Fork, startFork } from "./fork.ts";

export const forkCalls = (place: () => Promise<TrainerPlace>) => ({
  /** Continues a copy of a stored run from one of its checkpoints. */
  async forkRun(runId: string, list: RowSelection, fork: Omit<Fork, "id">) {
    const { lab, elsewhere, watch } = await place();
    return watch(await startFork(lab, runId, list, fork, await elsewhere(runId)));
  },
});

export type ForkCalls = CallsOf<typeof forkCalls>;
