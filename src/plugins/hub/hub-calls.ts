/** Calls of the data worker about checkpoints on servers. */

import type { StorageChoice } from "../../engine/model/weights/storage-choice.ts";
import { heldRuns, oneAtATime } from "../../engine/storage/lock.ts";
import type { DataPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { RemoteAddress } from "./address.ts";
import type { Asked } from "./listing.ts";

export interface RemoteCopy {
  readonly bytes: number;
  /** Available bytes, including those of a partial copy. */
  readonly room: number;
}

export const hubCalls = (place: () => Promise<DataPlace>) => ({
  // Imported on demand: the shapes of language models come with the code that computes them, which would be four fifths
  // of this worker.
  /**
   * Sizes of a checkpoint on a server; the page connects to no server but its own.
   * @throws LabError like `askRemote`
   */
  remote: async (address: RemoteAddress): Promise<Asked> => (await import("./listing.ts")).askRemote(address),
  /**
   * The copy of this checkpoint that the browser would store; null if it cannot store one, regardless of free space.
   */
  async copyOf({ listing, config }: Asked, choice: StorageChoice): Promise<RemoteCopy | null> {
    const [{ weightForecast }, { copyRoom, hasVersion }] = await Promise.all([
      import("../../engine/plan/weights.ts"),
      import("./folder.ts"),
    ]);
    if (!hasVersion(listing)) return null;
    const { frozenBytes, publishedBytes } = weightForecast(config, choice);
    const bytes = frozenBytes + publishedBytes;
    const store = await (await place()).store("models");
    // No probing: it could take the space of a checkpoint that is being written.
    const { fits: _, ...asReported } = store;
    const from = (await heldRuns()).size > 0 ? asReported : store;
    return { bytes, room: await oneAtATime("room", () => copyRoom(listing, choice, bytes, from)) };
  },
});

export type HubCalls = CallsOf<typeof hubCalls>;
