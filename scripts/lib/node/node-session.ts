import { type EngineDevice, openAgain } from "../../../src/engine/gpu/runtime/device.ts";
import { rewardScorer } from "../../../src/engine/rewards/scorer.ts";
import type { LabHost } from "../../../src/engine/rl/run/lab.ts";
import { Session } from "../../../src/engine/session/session.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { openNodeDevice } from "./node-gpu.ts";
import { nodeWordnet } from "./node-rows.ts";

/** A session on this machine with METEOR and no judge; its runs are kept in memory unless a store is given. */
export async function nodeSession(
  device: EngineDevice,
  { store = memoryStore(), emit = () => undefined, ...host }: Pick<LabHost, "rows"> & Partial<LabHost>,
): Promise<Session> {
  return new Session({
    device,
    reopen: () => openAgain(openNodeDevice),
    store,
    scorer: rewardScorer({ wordnet: await nodeWordnet() }),
    now: () => performance.now() / 1000,
    emit,
    ...host,
  });
}
