/** Read-only runs stored elsewhere: served with the page, dropped, or at an address. */
import { LabError } from "../src/engine/errors.ts";
import { digestRun, type RunDigest } from "../src/engine/runs/library/digest.ts";
import { type RunLibrary, runLibrary } from "../src/engine/runs/library/library.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import type { RowCalls } from "../src/protocol/data.ts";
import { type Handlers, Moved } from "../src/protocol/rpc.ts";

const known = new Map<string, { readonly library: RunLibrary; readonly store: RunStore }>();

export function addElsewhere(runId: string, store: RunStore): void {
  known.set(runId, { library: runLibrary(store), store });
}

/** Undefined for a run that is stored here. */
export function libraryElsewhere(runId: string): RunLibrary | undefined {
  return known.get(runId)?.library;
}

export async function digestsElsewhere(): Promise<RunDigest[]> {
  const read = [...known].map(async ([id, { store }]) => digestRun(await openRun(store, id)));
  // A server that is gone is reported when its run is opened.
  return (await Promise.allSettled(read)).flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

/** The stores of such runs by id. */
export const storesElsewhere = (): readonly (readonly [id: string, store: RunStore])[] =>
  [...known].map(([id, { store }]) => [id, store]);

/** Access to such a run for the trainer. */
export const elsewhereCalls: Pick<Handlers<RowCalls>, "filesElsewhere" | "bytesElsewhere"> = {
  filesElsewhere: async (runId) => (await known.get(runId)?.store.list(runId)) ?? null,
  async bytesElsewhere(runId, path, start, end) {
    const store = known.get(runId)?.store;
    if (store === undefined) throw new LabError("internal", `Run "${runId}" is not open`, { subject: runId });
    // A copy: an archive may keep its own.
    const bytes = new Uint8Array(await (await store.open(path)).read(start, end));
    return new Moved(bytes, bytes.buffer);
  },
};
