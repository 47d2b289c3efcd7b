/** Loads a model folder, or a stored conversion of one, onto the GPU. */

import { readJson } from "../bytes/json.ts";
import type { ByteFolder } from "../bytes/source.ts";
import { LabError, toLabError } from "../errors.ts";
import { BLOCK_ELEMENTS } from "../gpu/packed/storage.ts";
import { compileUsualPrograms } from "../gpu/precompile.ts";
import { tf } from "../gpu/tf.ts";
import { parseSa2vaConfig, type Sa2vaConfig } from "../model/config.ts";
import { visionFamily } from "../model/families/registry.ts";
import { assembleSa2va, modelTokenizer, type OpenOptions, type Sa2vaModel } from "../model/sa2va.ts";
import { type Checkpoint, openCheckpoint } from "../model/weights/checkpoint.ts";
import { ALL_F32, type StorageChoice, weightBytes } from "../model/weights/storage-choice.ts";
import { convertCheckpoint, stopIf, type WeightPiece } from "../model/weights/weight-pieces.ts";
import { passingHash, weightsHash } from "../model/weights/weights-hash.ts";
import { type CachedModel, type CacheKey, type CacheWriter, type ModelCache, pieceKey } from "./model-cache.ts";

/** The conversion of a model with the parts for video is not stored. */
export interface OpenModelOptions extends Omit<OpenOptions, "choice"> {
  /** Form of the frozen matrices, or how it follows from config.json and the bytes of the weight files; f32 by default. */
  readonly choice?: StorageChoice | ((model: Sa2vaConfig, bytes: number) => StorageChoice) | undefined;
  /** Where conversions are stored; absent to store none. */
  readonly cache?: ModelCache | undefined;
  /**
   * What to store: packed weights (the default, because an f32 conversion is at least as large as its original),
   * everything (for an original that had to be downloaded), or nothing.
   */
  readonly keep?: "packed" | "all" | "none" | undefined;
}

export interface OpenedModel {
  readonly model: Sa2vaModel;
  /** `weightsHash` of the content of the original folder; after an interrupted download, of the server's version. */
  readonly hash: string;
  /** Whether the weights were read from a stored conversion, stored now, or neither. */
  readonly cached: "read" | "written" | "none";
  /** Why a conversion was not stored, and where the model differs from the published code. */
  readonly note?: string;
}

/** Bytes of a checkpoint's weights on the GPU (and of a stored conversion on disk). */
export function convertedBytes(
  checkpoint: Pick<Checkpoint, "tensorNames" | "shape">,
  choice: StorageChoice,
  blockElements: number = BLOCK_ELEMENTS,
): number {
  return checkpoint.tensorNames.reduce(
    (sum, name) => sum + weightBytes(name, checkpoint.shape(name), choice, blockElements),
    0,
  );
}

/**
 * Opens a model folder. A stored conversion is read instead of the weight files; a new one is stored when there is room
 * for it. After an error nothing incomplete stays; a conversion that was stopped or interrupted by a network error can
 * be continued.
 * @throws LabError naming the file, tensor or field that is wrong
 */
export async function openModelFolder(
  folder: ByteFolder,
  name: string,
  options: OpenModelOptions = {},
): Promise<OpenedModel> {
  return withPictureNote(await openFolder(folder, name, options));
}

async function openFolder(folder: ByteFolder, name: string, options: OpenModelOptions): Promise<OpenedModel> {
  const { choice: asked = ALL_F32, blockElements = BLOCK_ELEMENTS, keep = "packed" } = options;
  const beforeWeights = beforeWeightsOf(options);
  void compileUsualPrograms("load");
  const passing = await passingHash(folder);
  const checkpoint = await openCheckpoint(passing.folder, options.video);
  const { config, bytes } = checkpoint;
  const choice = typeof asked === "function" ? asked(config, bytes) : asked;
  const plain = choice.language === "f32" && choice.towers === "f32";
  if (!plain) requireGpu();
  const tokenizer = await modelTokenizer(folder, config);
  const key: CacheKey = { source: await fingerprint(folder, bytes, options), choice, blockElements };
  const facts = { name, config, tokenizer, storage: choice, bytes };
  const cache =
    keep === "none" || options.video !== undefined || (plain && keep === "packed") ? undefined : options.cache;
  const converted = (skip?: (tensor: string, first: number) => boolean): AsyncGenerator<WeightPiece> =>
    convertCheckpoint(checkpoint, { ...options, choice, blockElements, skip });
  const contentHash = async (): Promise<string> => (passing.folder === folder ? key.source : passing.hash());
  const unkept = async (note?: string): Promise<OpenedModel> => {
    const model = await assembleSa2va(facts, converted());
    return { model, hash: await contentHash(), cached: "none", ...(note === undefined ? {} : { note }) };
  };
  if (cache === undefined) {
    beforeWeights();
    return unkept();
  }
  const entry = await cache.find(key);
  if (entry !== undefined) {
    beforeWeights();
    return { model: await assembleSa2va(facts, storedPieces(cache, entry, options)), hash: entry.hash, cached: "read" };
  }
  const id = await cache.idOf(key);
  const release = await cache.hold(id);
  if (release === null) {
    beforeWeights();
    return unkept("The conversion was not kept: another tab is storing it");
  }
  try {
    const needed = convertedBytes(checkpoint, choice, blockElements);
    // An interrupted conversion already takes up a part of the room.
    const begunBytes = (await cache.list()).find((other) => other.id === id)?.bytes ?? 0;
    if (!(await cache.fits(Math.max(0, needed - begunBytes)))) {
      const room = Math.max(0, begunBytes + (await cache.room()));
      beforeWeights();
      const free = room < needed ? `${room} are free` : "the browser grants less";
      const note = `The conversion was not kept: it takes ${needed} bytes and ${free}`;
      return await unkept(note);
    }
    // Before the entry is started, so that a refusal leaves no open file.
    beforeWeights();
    const begun = await beginEntry(cache, key, id, name, bytes, folder);
    if (typeof begun === "string") return await unkept(begun);
    const keeper = new Keeper(cache, id, begun);
    try {
      const model = await assembleSa2va(facts, keeper.through(name, converted));
      // Bytes that an interrupted conversion has read are not read again, so the hash is that of the server's version.
      const hash = begun.kept.size > 0 ? key.source : await contentHash();
      const note = await keeper.finish(hash);
      if (note === undefined) return { model, hash, cached: "written" };
      return { model, hash, cached: "none", note };
    } catch (thrown) {
      // A stopped or interrupted conversion can be continued; after any other error it is removed.
      const { code } = toLabError(thrown);
      if (code === "cancelled" || code === "network") await keeper.pause();
      else await keeper.drop();
      throw thrown;
    }
  } finally {
    release();
  }
}

/** Opens a stored conversion without its original folder. */
export async function openCachedModel(
  cache: ModelCache,
  id: string,
  options: Omit<OpenModelOptions, "cache" | "choice"> = {},
): Promise<OpenedModel> {
  const entry = (await cache.list()).find((candidate) => candidate.id === id && candidate.finished);
  if (entry === undefined) throw new LabError("storage", "The stored model no longer exists", { subject: id });
  requireGpu();
  void compileUsualPrograms("load");
  const files = await cache.files(id);
  const source = files.get("config.json");
  if (source === undefined) throw new LabError("storage", `The stored copy of ${entry.name} has no config.json`);
  const config = parseSa2vaConfig(await readJson(source));
  const tokenizer = await modelTokenizer(files, config);
  beforeWeightsOf(options)();
  const { name, choice: storage, originalBytes: bytes } = entry;
  const facts = { name, config, tokenizer, storage, bytes };
  const model = await assembleSa2va(facts, storedPieces(cache, entry, options));
  return withPictureNote({ model, hash: entry.hash, cached: "read" });
}

/** Adds a note if pictures become tokens in another way than in the published code. */
function withPictureNote(opened: OpenedModel): OpenedModel {
  const { config } = opened.model;
  const note = visionFamily(config).note(config);
  if (note === undefined) return opened;
  return { ...opened, note: opened.note === undefined ? note : `${opened.note}. ${note}` };
}

/** Frees the previous model, unless loading was already stopped; then the previous model stays. */
function beforeWeightsOf({ signal, beforeWeights }: OpenModelOptions): () => void {
  return () => {
    stopIf(signal);
    beforeWeights?.();
  };
}

/** A writer, or a sentence that says why nothing can be stored. */
async function beginEntry(
  cache: ModelCache,
  key: CacheKey,
  id: string,
  name: string,
  bytes: number,
  folder: ByteFolder,
): Promise<CacheWriter | string> {
  try {
    return await cache.write(key, name, bytes, folder);
  } catch (thrown) {
    await cache.remove(id);
    return notKept(thrown);
  }
}

/** `weightsHash` with progress, stopped by the signal. */
function fingerprint(folder: ByteFolder, bytes: number, { onProgress, signal }: OpenModelOptions): Promise<string> {
  return weightsHash(folder, (path, share) => {
    stopIf(signal);
    // No weights are read yet, so their count stays 0.
    onProgress?.({
      done: 0,
      total: 0,
      bytes: 0,
      totalBytes: bytes,
      name: `fingerprint of ${path}, ${Math.floor(100 * share)} %`,
    });
  });
}

function notKept(thrown: unknown): string {
  return `The conversion was not kept: ${toLabError(thrown, "storage").message}`;
}

function requireGpu(): void {
  if (tf.getBackend() === "webgpu") return;
  throw new LabError("unsupported", "Packed weights are read by GPU programs; without WebGPU only f32 can be loaded");
}

/** Pieces of a stored entry, with progress. */
function storedPieces(
  cache: ModelCache,
  entry: CachedModel,
  { onProgress, signal }: Pick<OpenModelOptions, "onProgress" | "signal">,
): AsyncGenerator<WeightPiece> {
  const report = (bytes: number): void =>
    onProgress?.({ done: 0, total: 0, bytes, totalBytes: entry.bytes, name: "stored weights" });
  return cache.pieces(entry.id, entry.name, report, signal);
}

/** Stores pieces while they are loaded; if the store fails, loading continues without it. */
class Keeper {
  readonly #cache: ModelCache;
  readonly #id: string;
  readonly #writer: CacheWriter;
  #note: string | undefined;

  constructor(cache: ModelCache, id: string, writer: CacheWriter) {
    this.#cache = cache;
    this.#id = id;
    this.#writer = writer;
  }

  /** The pieces of an interrupted conversion, then the rest. */
  async *through(
    name: string,
    convert: (skip: (tensor: string, first: number) => boolean) => AsyncIterable<WeightPiece>,
  ): AsyncGenerator<WeightPiece> {
    const { kept } = this.#writer;
    if (kept.size > 0) yield* this.#cache.pieces(this.#id, name);
    for await (const piece of convert((tensor, first) => kept.has(pieceKey({ name: tensor, first })))) {
      yield piece;
      await this.#try(() => this.#writer.add(piece));
    }
  }

  /** A sentence if the conversion could not be stored. */
  async finish(hash: string): Promise<string | undefined> {
    await this.#try(() => this.#writer.finish(hash));
    return this.#note;
  }

  async pause(): Promise<void> {
    await this.#try(() => this.#writer.pause());
  }

  async drop(): Promise<void> {
    await this.#cache.remove(this.#id);
  }

  async #try(work: () => Promise<void>): Promise<void> {
    if (this.#note !== undefined) return;
    try {
      await work();
    } catch (thrown) {
      this.#note = notKept(thrown);
      await this.drop();
    }
  }
}
