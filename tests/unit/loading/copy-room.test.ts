/** Room for the copy of a checkpoint on a server, where a part of it is stored already. */
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { ModelCache } from "../../../src/engine/loading/model-cache.ts";
import { weightsHash } from "../../../src/engine/model/weights/weights-hash.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { remoteAddress } from "../../../src/plugins/hub/address.ts";
import { copyRoom, hasVersion, openRemote } from "../../../src/plugins/hub/folder.ts";
import { askRemote, type RemoteListing } from "../../../src/plugins/hub/listing.ts";
import { type CheckpointServer, checkpointServer } from "../../support/checkpoint-server.ts";

const CHOICE = { language: "q8", towers: "f16" } as const;
const DEPS = { pauses: [] };
const QUOTA = 2_000_000;

let server: CheckpointServer;
beforeAll(async () => {
  server = await checkpointServer("tests/golden/sa2va-tiny-variant");
});
beforeEach(() => server.reset());
afterAll(() => server.close());

const ask = async (): Promise<RemoteListing> => (await askRemote(remoteAddress(server.url, ""), DEPS)).listing;

/** A store with a begun copy of what the server has now. */
async function begunStore() {
  const store = memoryStore({ quota: QUOTA });
  const { folder } = await openRemote(await ask(), DEPS);
  const key = { source: await weightsHash(folder), choice: CHOICE, blockElements: 1 };
  const writer = await new ModelCache(store).write(key, "folder", 1, folder);
  await writer.add({ kind: "tensor", name: "a", shape: [100_000], values: new Float32Array(100_000) });
  await writer.pause();
  return store;
}

it("counts the parts of a begun copy as room", async () => {
  const store = await begunStore();
  const { usage } = await store.usage();
  expect(usage).toBeGreaterThan(400_000);
  server.seen.length = 0;
  expect(await copyRoom(await ask(), CHOICE, QUOTA, store, DEPS)).toBe(QUOTA);
  // Neither more room than there is, nor a weight fetched to know it.
  expect(await copyRoom(await ask(), CHOICE, 2 * QUOTA, store, DEPS)).toBe(QUOTA);
  expect(server.weightBytes()).toBe(2);
});

it("counts neither a copy in another storage nor one of another version", async () => {
  const store = await begunStore();
  const free = QUOTA - (await store.usage()).usage;
  expect(await copyRoom(await ask(), { ...CHOICE, towers: "q8" }, QUOTA, store, DEPS)).toBe(free);
  server.fault = (path) => (path.endsWith(".safetensors") ? { headers: { ETag: '"second edition"' } } : null);
  expect(await copyRoom(await ask(), CHOICE, QUOTA, store, DEPS)).toBe(free);
});

it("fetches no further file where the whole copy fits", async () => {
  const store = await begunStore();
  const listing = await ask();
  server.seen.length = 0;
  expect(await copyRoom(listing, CHOICE, 1000, store, DEPS)).toBeGreaterThan(1000);
  expect(server.seen).toEqual([]);
});

it("a copy needs something that tells versions apart", async () => {
  server.manner = { ...server.manner, tag: "none" };
  expect(hasVersion(await ask())).toBe(true);
  server.manner = { ...server.manner, ranges: false };
  expect(hasVersion(await ask())).toBe(false);
  server.manner = { ...server.manner, tag: "date" };
  expect(hasVersion(await ask())).toBe(true);
});
