/**
 * Stored conversions of checkpoints, so that the next visit loads in seconds. An entry is a folder of the store: the
 * original config and tokenizer files, parts of packed weights, a journal line for every complete part, and finally the
 * manifest. Without a manifest the entry is unfinished: it can be continued from its journal, or removed.
 */

import * as z from "zod/mini";
import { sha256Hex } from "../bytes/hash.ts";
import { intactJson, type Stored } from "../bytes/json.ts";
import { type ByteFolder, type ByteSource, folderOf, joinBytes } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { blockBytes, WEIGHT_STORAGES } from "../gpu/packed/storage.ts";
import type { WeightPiece } from "../model/weights/weight-pieces.ts";
import { hold, type RunLocks } from "../storage/lock.ts";
import type { RunStore } from "../storage/store.ts";

// Converts pieces of weights to the bytes of a stored part, and back.

const amount = z.number().check(z.int(), z.gte(0));
const shape = z.array(amount).check(z.maxLength(8));

/** A piece of a part; its words directly follow those of the previous piece. */
const PIECE = z.union([
  z.strictObject({ name: z.string(), shape }),
  z.object({
    name: z.string(),
    shape: z.tuple([amount, amount]),
    storage: z.enum(WEIGHT_STORAGES),
    first: amount,
    rows: amount,
    unit: z.number().check(z.positive()),
  }),
]);
type PieceRecord = z.output<typeof PIECE>;

/** A line of the journal. */
const PART = z.object({
  file: z.string().check(z.regex(/^part-\d{5,9}\.bin$/)),
  bytes: amount,
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  pieces: z.array(PIECE),
});
type PartRecord = z.output<typeof PART>;

async function encodePart(
  index: number,
  pieces: readonly WeightPiece[],
): Promise<{ readonly record: PartRecord; readonly content: Uint8Array<ArrayBuffer> }> {
  const arrays = pieces.flatMap((piece): (Float32Array | Uint32Array)[] =>
    piece.kind === "tensor" ? [piece.values] : [piece.packed.values, piece.packed.scales],
  );
  const content = joinBytes(arrays);
  const record: PartRecord = {
    file: `part-${String(index).padStart(5, "0")}.bin`,
    bytes: content.length,
    sha256: await sha256Hex(content),
    pieces: pieces.map((piece): PieceRecord => {
      if (piece.kind === "tensor") return { name: piece.name, shape: [...piece.shape] };
      const { name, shape, storage, first, rows, packed } = piece;
      return { name, shape: [...shape], storage, first, rows, unit: packed.unit };
    }),
  };
  return { record, content };
}

/** @throws LabError("storage") when the record does not describe these bytes */
function* decodePieces(record: PartRecord, bytes: Uint8Array<ArrayBuffer>): Generator<WeightPiece> {
  let at = 0;
  const words = (amount: number): Uint32Array<ArrayBuffer> => {
    const start = bytes.byteOffset + at;
    at += 4 * amount;
    if (at > bytes.length) throw new LabError("storage", `${record.file} is shorter than its record says`);
    return new Uint32Array(bytes.buffer, start, amount);
  };
  for (const piece of record.pieces) {
    const { name, shape } = piece;
    if (!("storage" in piece)) {
      const { buffer, byteOffset, length } = words(shape.reduce((product, side) => product * side, 1));
      yield { kind: "tensor", name, shape, values: new Float32Array(buffer, byteOffset, length) };
      continue;
    }
    const { storage, first, rows, unit } = piece;
    const sizes = blockBytes(storage, piece.shape[1], rows);
    const packed = { values: words(sizes.values / 4), scales: words(sizes.scales / 4), unit };
    yield { kind: "rows", name, shape: piece.shape, storage, first, rows, packed };
  }
}

const FORMAT = "sa2va-lab-weights/1";
const MANIFEST = "manifest.json";
const JOURNAL = "journal.jsonl";
/** Files of a model folder that are stored with the weights. */
const FILES = "files";

const count = z.number().check(z.int(), z.gte(0));
const storage = z.enum(WEIGHT_STORAGES);
const ENTRY = z.object({
  format: z.literal(FORMAT),
  name: z.string(),
  /** Of the original weight files. */
  originalBytes: count,
  /**
   * `weightsHash` of the model folder; for a folder on a server it may be computed from the version that the server
   * names.
   */
  source: z.string(),
  choice: z.object({ language: storage, towers: storage }),
  blockElements: count,
});
/** `journal` and `hash` are absent in entries of older versions. */
const WHOLE = z.object({
  ...{ content: z.string(), parts: count, journal: z.optional(z.string()) },
  hash: z.optional(z.string()),
});

/** A part's record and the hash of the record's text. */
const JOURNAL_LINE = z.extend(PART, { line: z.optional(z.string()) });

async function journalLine(record: PartRecord): Promise<string> {
  return `${JSON.stringify({ ...record, line: await lineHash(record) })}\n`;
}

async function lineHash(record: PartRecord): Promise<string> {
  return sha256Hex(new TextEncoder().encode(JSON.stringify(record)));
}

/** Approximate bytes of a part. */
const PART_BYTES = 32 * 2 ** 20;

/** Source and form of a stored conversion. */
export type CacheKey = Pick<Stored<typeof ENTRY>, "source" | "choice" | "blockElements">;

export interface CachedModel extends Omit<Stored<typeof ENTRY>, "format"> {
  readonly id: string;
  /** `weightsHash` of the converted content; equal to `source` in entries of older versions. */
  readonly hash: string;
  /** Of the entry. */
  readonly bytes: number;
  /** Unfinished entries can be continued with the original folder, or removed. */
  readonly finished: boolean;
}

/** An entry being written. */
export interface CacheWriter {
  /** Pieces left by an earlier, interrupted conversion, by `pieceKey`. */
  readonly kept: ReadonlySet<string>;
  add(piece: WeightPiece): Promise<void>;
  /** Writes the collected pieces, so that a later conversion can continue from here. */
  pause(): Promise<void>;
  /**
   * Completes the entry.
   * @param hash `weightsHash` of the converted content
   */
  finish(hash: string): Promise<void>;
}

export function pieceKey(piece: { readonly name: string; readonly first?: number }): string {
  return `${piece.name}@${piece.first ?? 0}`;
}

export class ModelCache {
  readonly #store: RunStore;
  readonly #partBytes: number;
  readonly #locks: RunLocks | null | undefined;

  /** @param partBytes minimum bytes of a written part */
  constructor(store: RunStore, partBytes: number = PART_BYTES, locks?: RunLocks | null) {
    this.#store = store;
    this.#partBytes = partBytes;
    this.#locks = locks;
  }

  async list(): Promise<CachedModel[]> {
    const files = await this.#store.list("");
    const ids = [...new Set(files.map(({ path }) => path.split("/")[0] as string))];
    const entries: CachedModel[] = [];
    for (const id of ids) {
      const bytes = files.filter(({ path }) => path.startsWith(`${id}/`)).reduce((sum, file) => sum + file.size, 0);
      entries.push({ ...(await this.#describe(id)), bytes });
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The finished entry of the key. */
  async find(key: CacheKey): Promise<CachedModel | undefined> {
    const entry = await this.#describe(await entryId(key));
    return entry.finished ? entry : undefined;
  }

  async remove(id: string): Promise<void> {
    await this.#store.remove(id);
  }

  /**
   * Locks an entry before it is written or removed.
   * @returns the function that releases it, or null if another tab holds it
   */
  hold(id: string): Promise<(() => void) | null> {
    return hold("model", id, this.#locks);
  }

  /** Id of the entry for a key, whether it exists or not. */
  idOf(key: CacheKey): Promise<string> {
    return entryId(key);
  }

  /** Whether this many bytes fit, without writing them. */
  async fits(bytes: number): Promise<boolean> {
    return (await this.room()) >= bytes && (await (this.#store.fits?.(bytes) ?? true));
  }

  /** Bytes free for new entries, if the store reports them; Infinity if it has no limit. */
  async room(): Promise<number> {
    const { usage, quota } = await this.#store.usage();
    return quota - usage;
  }

  /** Config and tokenizer files of an entry. */
  async files(id: string): Promise<ByteFolder> {
    const prefix = `${id}/${FILES}/`;
    const found = new Map<string, ByteSource>();
    for (const { path } of await this.#store.list(`${id}/${FILES}`)) {
      const name = path.slice(prefix.length);
      const source = await this.#store.open(path);
      found.set(name, { name, size: source.size, read: (start, end) => source.read(start, end) });
    }
    return folderOf(found);
  }

  /**
   * Pieces of a stored entry in the order they were written, every part checked against its hash.
   * @param onPart bytes of the entry read so far
   * @throws LabError("storage") when a part is damaged; the entry is removed then
   */
  async *pieces(
    id: string,
    name: string,
    onPart?: (bytes: number) => void,
    signal?: AbortSignal,
  ): AsyncGenerator<WeightPiece> {
    let read = 0;
    const records = await this.#journal(id);
    const whole = await this.#json(`${id}/${MANIFEST}`, WHOLE);
    const other =
      whole !== undefined &&
      (whole.content !== (await contentHash(records)) ||
        (whole.journal !== undefined && whole.journal !== (await journalHash(records))));
    if (other) throw await this.#damaged(id, name, JOURNAL, "has different contents");
    for (const record of records) {
      if (signal?.aborted === true) throw new LabError("cancelled", "Loading the stored model was stopped");
      const bytes = await this.#readPart(id, name, record);
      read += bytes.length;
      yield* decodePieces(record, bytes);
      onPart?.(read);
    }
  }

  /**
   * Starts or continues an entry.
   * @param folder the model folder; its small files are copied
   */
  async write(key: CacheKey, name: string, originalBytes: number, folder: ByteFolder): Promise<CacheWriter> {
    const id = await entryId(key);
    const begun = (await this.#json(`${id}/entry.json`, ENTRY)) !== undefined;
    const records = begun ? await this.#journal(id) : [];
    if (records.length === 0) await this.#begin(id, key, name, originalBytes, folder);
    // Written again without a truncated last line, which would corrupt the next one.
    else await this.#store.write(`${id}/${JOURNAL}`, (await Promise.all(records.map(journalLine))).join(""));
    const kept = new Set(records.flatMap((record) => record.pieces.map((piece) => pieceKey(piece))));
    const store = this.#store;
    const partBytes = this.#partBytes;
    let waiting: WeightPiece[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length === 0) return;
      const { record, content } = await encodePart(records.length, waiting);
      await store.write(`${id}/${record.file}`, content);
      await store.append(`${id}/${JOURNAL}`, await journalLine(record));
      records.push(record);
      waiting = [];
      bytes = 0;
    };
    return {
      kept,
      async add(piece) {
        waiting.push(piece);
        bytes += 4 * (piece.kind === "tensor" ? piece.values.length : piece.packed.values.length);
        if (bytes >= partBytes) await flush();
      },
      pause: flush,
      async finish(hash) {
        await flush();
        const content = await contentHash(records);
        const journal = await journalHash(records);
        await store.write(`${id}/${MANIFEST}`, JSON.stringify({ content, parts: records.length, journal, hash }));
      },
    };
  }

  async #begin(id: string, key: CacheKey, name: string, originalBytes: number, folder: ByteFolder): Promise<void> {
    await this.#store.remove(id);
    for (const path of folder.paths) {
      const source = folder.get(path);
      if (source === undefined || !/^[^/]+\.(json|model|txt|jinja|py)$/.test(path) || /index\.json$/.test(path))
        continue;
      await this.#store.write(`${id}/${FILES}/${path}`, await source.read(0, source.size));
    }
    await this.#store.write(`${id}/entry.json`, JSON.stringify({ format: FORMAT, name, originalBytes, ...key }));
  }

  async #describe(id: string): Promise<CachedModel> {
    const entry = await this.#json(`${id}/entry.json`, ENTRY);
    const manifest = await this.#json(`${id}/${MANIFEST}`, WHOLE);
    return {
      ...(entry ?? {
        name: id,
        source: "",
        choice: { language: "f32", towers: "f32" },
        blockElements: 0,
        originalBytes: 0,
      }),
      id,
      hash: manifest?.hash ?? entry?.source ?? "",
      bytes: 0,
      finished: manifest !== undefined && entry !== undefined,
    };
  }

  async #json<T extends z.ZodMiniType>(path: string, schema: T): Promise<z.output<T> | undefined> {
    if ((await this.#store.size(path)) === null) return undefined;
    return intactJson(await this.#store.readText(path), schema);
  }

  async #damaged(id: string, name: string, file: string, why: string): Promise<LabError> {
    await this.#store.remove(id);
    return new LabError(
      "storage",
      `The stored copy of ${name} is damaged (${file} ${why}) and was removed; open the model folder again`,
      { subject: name },
    );
  }

  /** Complete lines only: a crash may have truncated the last one. */
  async #journal(id: string): Promise<PartRecord[]> {
    if ((await this.#store.size(`${id}/${JOURNAL}`)) === null) return [];
    const records: PartRecord[] = [];
    for (const line of (await this.#store.readText(`${id}/${JOURNAL}`)).split("\n").slice(0, -1)) {
      const found = intactJson(line, JOURNAL_LINE);
      if (found === undefined) break;
      const { line: hash, ...record } = found;
      // Treated as truncated; entries of older versions have no hash.
      if (hash !== undefined && hash !== (await lineHash(record))) break;
      records.push(record);
    }
    return records;
  }

  async #readPart(id: string, name: string, record: PartRecord): Promise<Uint8Array<ArrayBuffer>> {
    const path = `${id}/${record.file}`;
    if ((await this.#store.size(path)) !== record.bytes) {
      throw await this.#damaged(id, name, record.file, "has a different size");
    }
    const bytes = await this.#store.read(path);
    if ((await sha256Hex(bytes)) !== record.sha256) {
      throw await this.#damaged(id, name, record.file, "has different contents");
    }
    // Words are read in place, which needs an aligned offset.
    return bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
  }
}

async function entryId({ source, choice, blockElements }: CacheKey): Promise<string> {
  const text = `${FORMAT} ${source} ${choice.language} ${choice.towers} ${blockElements}`;
  return (await sha256Hex(new TextEncoder().encode(text))).slice(0, 32);
}

async function contentHash(records: readonly PartRecord[]): Promise<string> {
  return await sha256Hex(new TextEncoder().encode(records.map((record) => record.sha256).join("\n")));
}

/** SHA-256 over the journal's records of all parts and pieces, because only these hold names and shapes. */
async function journalHash(records: readonly PartRecord[]): Promise<string> {
  const lines = records.map(({ file, bytes, sha256, pieces }) => [
    file,
    bytes,
    sha256,
    ...pieces.map((piece) => Object.entries(piece).sort(([one], [other]) => (one < other ? -1 : 1))),
  ]);
  return await sha256Hex(new TextEncoder().encode(JSON.stringify(lines)));
}
