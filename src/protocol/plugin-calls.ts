/** What the calls of plug-ins get from the worker that serves them. */
import type { ModelCache } from "../engine/loading/model-cache.ts";
import type { Session } from "../engine/session/session.ts";
import type { RunStore } from "../engine/storage/store.ts";
import type { RowCalls } from "./data.ts";
import type { Calls, Handlers } from "./rpc.ts";

/** The trainer once its device is open. */
export interface TrainerPlace {
  readonly lab: Session;
  readonly models: ModelCache;
  /** Of runs. */
  readonly store: RunStore;
  readonly rows: Calls<RowCalls>;
}

/** Calls of a plug-in on a worker. @param place resolves when the worker is ready; rejects with the reason if it cannot be */
export type ServedAt<Place, Served> = (place: () => Promise<Place>) => Handlers<Served>;
