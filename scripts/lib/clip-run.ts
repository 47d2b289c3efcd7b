/** Follows one expression of one clip, from pictures to files; an interrupted call continues from its stored state. */
import { join } from "node:path";
import { encode } from "fast-png";
import { isRecord, parseJson } from "../../src/engine/bytes/json.ts";
import { decodeRle, parseRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { badInput } from "../../src/engine/errors.ts";
import { openSafetensors, writeSafetensors } from "../../src/engine/formats/safetensors.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { type FollowKeeper, type FollowSettings, followExpressions } from "../../src/plugins/clips/follow.ts";
import type { ClipPictures } from "../../src/plugins/clips/masklets.ts";
import type { Clip, ClipExpression } from "../../src/plugins/data-sets/clip-set.ts";
import { framePicture } from "../../src/plugins/data-sets/frame-picture.ts";
import { checkMaskSizes, maskletScore } from "../../src/plugins/suites/masklet-score.ts";
import { decodeImage } from "./node/node-images.ts";
import { nodeStore } from "./node/node-store.ts";

export interface ClipJob {
  readonly model: Sa2vaModel;
  /** `weightsHash` of the model: masklets of another model are not continued. */
  readonly modelHash: string;
  readonly clip: Clip;
  readonly expression: ClipExpression;
  readonly settings: FollowSettings;
  /** Frames between two stored states. */
  readonly keepEvery: number;
  readonly out: string;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

export interface ScoredClip {
  readonly clip: string;
  readonly expression: string;
  readonly text: string;
  readonly type?: number | undefined;
  readonly answer: string;
  /** Frames given to the language model. */
  readonly frames: readonly number[];
  /** Masklets in the answer; the first one is scored, and without one the masks are empty. */
  readonly found: number;
  readonly score: { readonly j: number; readonly f: number; readonly jf: number } | null;
}

const STATE = "tracking.safetensors";
const PARTIAL = "partial.json";

/**
 * @throws LabError("cancelled") when the signal aborts; stored frames stay
 * @throws LabError("bad-input") when the folder holds masklets of another model, clip, expression or settings
 */
export async function runClip(job: ClipJob): Promise<ScoredClip> {
  const { model, clip, expression, out, say, settings, signal } = job;
  const { decoder, answers: mode, choice, maxCompletionLength } = settings;
  const of = JSON.stringify([
    job.modelHash,
    framesMark(clip),
    expression.text,
    decoder,
    mode,
    choice,
    maxCompletionLength,
  ]);
  const store = nodeStore(out);
  const name = `${fileName(clip.id)}/${fileName(expression.id)}`;
  const folder = join(out, name);
  const done = await stored(store, `${name}/masklets.json`);
  if (isRecord(done) && isRecord(done.result)) {
    if (done.of === of) return await scoredAgain(store, `${name}/masklets.json`, done as unknown as FinishedClip, job);
    throw badInput(
      `${folder} holds masklets of another model, clip, expression or settings; name another --out`,
      folder,
    );
  }
  const pictures = await clipPictures(clip);
  const size: [number, number] = [pictures.height, pictures.width];
  // Masks are checked before the work, which may take hours.
  const truth = await expression.truth?.();
  checkMaskSizes(`${clip.id}, ${expression.id}`, truth ?? [], size);
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const seen: FollowKeeper["seen"] = ({ bankBytes }, done) => {
    if (done % job.keepEvery !== 0 && done !== pictures.total) return;
    say(`${done} frames: ${bankBytes} bytes in the memory bank, ${tf.memory().numBytes} bytes of tensors`);
  };
  const keeper = { ...keeperIn(store, name, job.keepEvery, of), seen };
  const { answers, frames, masklets } = await followExpressions(
    { model, weights, pictures, signal, keeper },
    [expression.text],
    settings,
  );
  const masks = scoredMasks(clip, masklets, size);
  const result: ScoredClip = {
    clip: clip.id,
    expression: expression.id,
    text: expression.text,
    type: expression.type,
    answer: answers[0] as string,
    frames,
    found: masklets.length,
    score: truth === undefined ? null : scoreOf(truth, masks),
  };
  for (const [at, frame] of clip.names.entries()) {
    await store.write(`${name}/png/${fileName(frame)}.png`, pngOf(masks[at] as Rle));
  }
  const finished: FinishedClip = { of, size, frames: clip.names, objects: masklets, result };
  await writeJson(store, `${name}/masklets.json`, finished);
  for (const file of [STATE, PARTIAL]) await store.remove(`${name}/${file}`);
  say(`${clip.id} ${expression.id}: ${clip.frames.length} frames, ${masklets.length} masklet(s)`);
  return result;
}

/** masklets.json. */
interface FinishedClip {
  readonly of: string;
  readonly size: Rle["size"];
  readonly frames: readonly string[];
  readonly objects: readonly (readonly Rle[])[];
  readonly result: ScoredClip;
}

/** The result of a finished clip, whose true masks may have changed since. */
async function scoredAgain(
  store: RunStore,
  path: string,
  done: FinishedClip,
  { clip, expression }: ClipJob,
): Promise<ScoredClip> {
  const truth = await expression.truth?.();
  checkMaskSizes(`${clip.id}, ${expression.id}`, truth ?? [], done.size);
  const masks = scoredMasks(clip, done.objects, done.size);
  const result = { ...done.result, score: truth === undefined ? null : scoreOf(truth, masks) };
  if (JSON.stringify(result) !== JSON.stringify(done.result)) await writeJson(store, path, { ...done, result });
  return result;
}

/** The first masklet; empty masks without one. */
function scoredMasks(clip: Clip, [first]: FinishedClip["objects"], size: Rle["size"]): readonly Rle[] {
  return first ?? clip.names.map(() => parseRle({ size, counts: [size[0] * size[1]] }));
}

function scoreOf(truth: readonly Rle[], masks: readonly Rle[]): ScoredClip["score"] {
  const { j, f, jf } = maskletScore(truth, masks);
  return { j, f, jf };
}

/** Names and sizes of a clip's frames, which distinguish it from another clip of the same name. */
export function framesMark({ frames, names }: Clip): string {
  return names.map((name, at) => `${name} ${frames[at]?.size}`).join();
}

/** The pictures of a clip on disk; the first one gives the size. */
export async function clipPictures(clip: Clip): Promise<ClipPictures> {
  const { height, width } = await pictureOf(clip, 0);
  return { total: clip.frames.length, height, width, picture: (frame) => pictureOf(clip, frame) };
}

/** Stores the bank first, then the list that names it: without the list the bank is not used. */
function keeperIn(store: RunStore, name: string, every: number, job: string): FollowKeeper {
  const [bank, list] = [`${name}/${STATE}`, `${name}/${PARTIAL}`];
  return {
    every,
    async keep(of, { state: { done, tensors }, masks }) {
      await store.write(bank, writeSafetensors(tensors, { done: String(done) }));
      await writeJson(store, list, { job, of, done, masks: [...masks] });
    },
    async find(of) {
      const partial = await stored(store, list);
      if (!isRecord(partial) || partial.job !== job || partial.of !== of || !Array.isArray(partial.masks))
        return undefined;
      const file = await openSafetensors(await store.open(bank));
      // The bank is newer than its list.
      if (file.metadata.done !== String(partial.done)) return undefined;
      const tensors = await Promise.all(
        file.names.map(async (name) => ({ name, shape: file.info(name).shape, data: await file.read(name) })),
      );
      const masks = (partial.masks as [number, unknown[]][]).map(([frame, own]) => [frame, own.map(parseRle)] as const);
      return { state: { done: partial.done as number, tensors }, masks: new Map(masks) };
    },
  };
}

async function pictureOf(clip: Clip, frame: number): Promise<RgbImage> {
  const source = clip.frames[frame];
  if (source === undefined) throw badInput(`Clip "${clip.id}" has no frame ${frame}`);
  return await decodeImage(await framePicture(source));
}

function pngOf(mask: Rle): Uint8Array {
  const [height, width] = mask.size;
  return encode({ width, height, data: decodeRle(mask).map((pixel) => 255 * pixel), channels: 1, depth: 8 });
}

/** Writes a file that appears only when it is complete. */
export async function writeJson(store: RunStore, path: string, value: unknown): Promise<void> {
  await store.write(path, `${JSON.stringify(value)}\n`);
}

async function stored(store: RunStore, path: string): Promise<unknown> {
  return (await store.size(path)) === null ? undefined : parseJson(await store.readText(path), path);
}

/** A file name for a name in the data: without separators and leading dots; different names stay different. */
function fileName(name: string): string {
  return encodeURIComponent(name.replace(/\p{Surrogate}/gu, "\uFFFD")).replace(/^\./, "%2E") || "%";
}
