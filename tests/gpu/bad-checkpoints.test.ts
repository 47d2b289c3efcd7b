/**
 * Faulty checkpoints of every kind, from disk and from a server: one sentence that names file and tensor, nothing left
 * on the GPU and nothing in the store of conversions, not even a conversion that had begun.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { ModelCache } from "../../src/engine/loading/model-cache.ts";
import { openModelFolder } from "../../src/engine/loading/open-model.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { remoteAddress } from "../../src/plugins/hub/address.ts";
import { openRemote } from "../../src/plugins/hub/folder.ts";
import { askRemote } from "../../src/plugins/hub/listing.ts";
import { type CheckpointServer, checkpointServer } from "../support/checkpoint-server.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = join(root, "tests", "golden", "sa2va-tiny-variant");
const SHARD = "model-00002-of-00003.safetensors";
const CHOICE = { language: "q8", towers: "q8" } as const;

type Entry = { dtype: string; shape: number[]; data_offsets: [number, number] };
type Header = Record<string, Entry>;
type Files = Record<string, Uint8Array>;

let files: Files;
let server: CheckpointServer;
beforeAll(async () => {
  await useGpu();
  const names = (await readdir(GOLDEN)).filter((name) => /^(model|config|token|added|special|generation)/.test(name));
  files = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await readFile(join(GOLDEN, name))])));
  server = await checkpointServer(GOLDEN);
});
afterAll(() => server.close());

/** A shard with another header and unchanged data. */
function withHeader(shard: Uint8Array, change: (header: Header) => void): Uint8Array {
  const bytes = Buffer.from(shard);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, 8 + length)) as Header;
  change(header);
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([size, text, bytes.subarray(8 + length)]);
}

const json = (bytes: Uint8Array | undefined): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
const encoded = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
/** Tensors of a header in the order of their bytes. */
const tensorsOf = (header: Header): [string, Entry][] =>
  Object.entries(header)
    .filter(([name]) => name !== "__metadata__")
    .sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);

/** The fault, its files, and what the sentence must say. */
const FAULTS: readonly (readonly [string, (good: Files) => Files, RegExp])[] = [
  [
    "a shard that was cut off",
    (good) => ({ [SHARD]: (good[SHARD] as Uint8Array).slice(0, -500) }),
    /model-00002-of-00003\.safetensors is not a usable .*"[\w.]+" would end at data byte \d+, the file has \d+ \(cut off/,
  ],
  [
    "a header length that lies, too long",
    (good) => {
      const bytes = Buffer.from(good[SHARD] as Uint8Array);
      bytes.writeBigUInt64LE(BigInt(bytes.length + 1), 0);
      return { [SHARD]: bytes };
    },
    /model-00002-of-00003\.safetensors is not a usable .*its header would end at byte/,
  ],
  [
    "a header length that lies, too short",
    (good) => {
      const bytes = Buffer.from(good[SHARD] as Uint8Array);
      bytes.writeBigUInt64LE(bytes.readBigUInt64LE(0) - 9n, 0);
      return { [SHARD]: bytes };
    },
    /model-00002-of-00003\.safetensors is not a usable .*its header is not JSON/,
  ],
  [
    "tensors that overlap",
    (good) => ({
      [SHARD]: withHeader(good[SHARD] as Uint8Array, (header) => {
        const all = tensorsOf(header);
        const at = all.findIndex(([, entry]) => entry.data_offsets[0] > 0);
        const [, entry] = all[at] as [string, Entry];
        entry.data_offsets = [entry.data_offsets[0] - 4, entry.data_offsets[1] - 4];
      }),
    }),
    /model-00002-of-00003\.safetensors is not a usable .*"[\w.]+" overlaps "[\w.]+"/,
  ],
  [
    "a NaN at the end of its last shard",
    (good) => {
      const name = "model-00003-of-00003.safetensors";
      const bytes = Buffer.from(good[name] as Uint8Array);
      bytes.fill(0xff, bytes.length - 4);
      return { [name]: bytes };
    },
    /^model-00003-of-00003\.safetensors: tensor "[\w.]+" holds NaN or infinite numbers; nothing was loaded$/,
  ],
  [
    "a tensor that is missing",
    (good) => {
      let gone = "";
      const shard = withHeader(good[SHARD] as Uint8Array, (header) => {
        const last = tensorsOf(header)
          .filter(([name]) => name.endsWith(".weight"))
          .at(-1) as [string, Entry];
        gone = last[0];
        delete header[gone];
      });
      const index = json(good["model.safetensors.index.json"]) as { weight_map: Record<string, string> };
      delete index.weight_map[gone];
      return { [SHARD]: shard, "model.safetensors.index.json": encoded(index) };
    },
    /^The checkpoint has no tensor "[\w.]+\.weight", which its config\.json calls for$/,
  ],
  [
    "an index that places a tensor where it is not",
    (good) => {
      const index = json(good["model.safetensors.index.json"]) as { weight_map: Record<string, string> };
      const [name] = Object.entries(index.weight_map).find(([, file]) => file === SHARD) as [string, string];
      index.weight_map[name] = "model-00001-of-00003.safetensors";
      return { "model.safetensors.index.json": encoded(index) };
    },
    /^[\w.]+index\.json names "model-00001-of-00003\.safetensors" for tensor "[\w.]+", but the file does not have it$/,
  ],
  [
    "a tensor of another shape",
    (good) => ({
      [SHARD]: withHeader(good[SHARD] as Uint8Array, (header) => {
        const [, entry] = tensorsOf(header).find(([, { shape }]) => shape.length === 2) as [string, Entry];
        entry.shape = [1, (entry.shape[0] as number) * (entry.shape[1] as number)];
      }),
    }),
    /^model-00002-of-00003\.safetensors: tensor "[\w.]+" is \[1, \d+\], config\.json calls for \[\d+, \d+\]$/,
  ],
  [
    "a tokenizer with more words than the embedding has rows",
    (good) => {
      const added = json(good["added_tokens.json"]);
      const vocabulary = json(good["tokenizer.json"]) as { added_tokens: { id: number; content: string }[] };
      const rows = (json(good["config.json"]).llm_config as { vocab_size: number }).vocab_size;
      const template = vocabulary.added_tokens[0] as { id: number; content: string };
      vocabulary.added_tokens.push({ ...template, id: rows + 5, content: "<of another model>" });
      return {
        "tokenizer.json": encoded(vocabulary),
        "added_tokens.json": encoded({ ...added, "<of another model>": rows + 5 }),
      };
    },
    /^tokenizer\.json: the tokenizer has ids up to \d+, the embedding has only \d+ rows; nothing was loaded$/,
  ],
  [
    "a zip under the name of a shard",
    () => ({ [SHARD]: Buffer.from("PK\u0003\u0004 and what a zip holds besides, long enough", "latin1") }),
    /^model-00002-of-00003\.safetensors is not a usable safetensors file: it is a zip archive; unpack it first/,
  ],
];

/** A store that remembers whether anything was ever written. */
function watchedStore(): { readonly store: RunStore; readonly written: () => number } {
  const store = memoryStore();
  let written = 0;
  return {
    written: () => written,
    store: {
      ...store,
      write: async (path, content) => {
        written++;
        await store.write(path, content);
      },
    },
  };
}

describe.each(FAULTS)("a checkpoint with %s", (name, spoil, sentence) => {
  /** Loads, and checks what is left behind. */
  async function refused(load: (cache: ModelCache) => Promise<unknown>): Promise<void> {
    const { store, written } = watchedStore();
    const before = memorySnapshot();
    const failed = await load(new ModelCache(store, 4000)).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: "bad-input" });
    expect((failed as Error).message).toMatch(sentence);
    expect((failed as Error).message).not.toContain("\n");
    expect(await store.list("")).toEqual([]);
    // Only faults found during conversion have begun an entry at all.
    expect(written() > 0).toBe(/NaN/.test(name));
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
    expect(memorySnapshot().tensors).toBe(before.tensors);
  }

  it("is refused from disk", async () => {
    const folder = memoryFolder({ ...files, ...spoil(files) });
    await refused((cache) => openModelFolder(folder, "bad", { choice: CHOICE, cache }));
  });

  it("is refused from a server", async () => {
    server.reset();
    const bad = spoil(files);
    server.fault = (path) => (bad[path] === undefined ? null : { body: bad[path] });
    await refused(async (cache) => {
      const { listing } = await askRemote(remoteAddress(server.url, ""), { pauses: [0] });
      const { folder, close } = await openRemote(listing, { pauses: [0], ahead: 4000 });
      return openModelFolder(folder, "bad", { choice: CHOICE, cache, keep: "all" }).finally(close);
    });
  });
});
