/** The trainer's access to a run that the data worker reads in place. */
import { type ByteSource, folderOf } from "../src/engine/bytes/source.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import { folderStore } from "../src/engine/storage/store.ts";
import type { RowCalls } from "../src/protocol/data.ts";
import type { Calls } from "../src/protocol/rpc.ts";

/** @returns a read-only store; undefined for a run that is stored in this browser */
export async function storeElsewhere(rows: Calls<RowCalls>, runId: string): Promise<RunStore | undefined> {
  const files = await rows.filesElsewhere(runId);
  if (files === null) return undefined;
  const sources = new Map<string, ByteSource>(
    files.map(({ path, size }) => [
      path,
      { name: path, size, read: (start, end) => rows.bytesElsewhere(runId, path, start, end) },
    ]),
  );
  return folderStore(folderOf(sources));
}
