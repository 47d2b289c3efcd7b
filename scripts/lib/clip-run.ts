/** One expression of one clip from pictures to files; an interrupted one goes on where its state was kept. */
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { encode } from "fast-png";
import { isRecord, parseJson } from "../../src/engine/bytes/json.ts";
import type { Clip, ClipExpression } from "../../src/engine/data/clips/clip-set.ts";
import { framePicture } from "../../src/engine/data/clips/frame-picture.ts";
import { decodeRle, parseRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { LabError } from "../../src/engine/errors.ts";
import { maskletScore } from "../../src/engine/eval/video/masklet-score.ts";
import { openSafetensors } from "../../src/engine/formats/safetensors.ts";
import { writeSafetensors } from "../../src/engine/formats/safetensors-write.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import type { StoredTracking } from "../../src/engine/model/sam2/video/clip.ts";
import { weightsView } from "../../src/engine/model/weights/weights.ts";
import {
  clipVision,
  forcedClipAnswer,
  freeClipAnswer,
  segmentClipPrompt,
} from "../../src/engine/policy/clip/clip-prompt.ts";
import { chosenFrames, type FrameChoice } from "../../src/engine/policy/clip/frames.ts";
import { type ClipDecoder, masklets } from "../../src/engine/policy/clip/masklets.ts";
import { nodeSource } from "./node-files.ts";
import { decodeImage } from "./node-images.ts";

export interface ClipJob {
  readonly model: Sa2vaModel;
  readonly clip: Clip;
  readonly expression: ClipExpression;
  readonly choice: FrameChoice;
  readonly decoder: ClipDecoder;
  readonly answers: "free" | "forced";
  readonly maxNewTokens: number;
  /** Frames between two kept states. */
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
  /** Frames that the language model saw. */
  readonly frames: readonly number[];
  /** Masklets in the answer; the first one is scored, and without one the masks are empty. */
  readonly found: number;
  readonly score: { readonly j: number; readonly f: number; readonly jf: number } | null;
}

const STATE = "tracking.safetensors";

/** @throws LabError("cancelled") when the signal fires; what was kept stays */
export async function runClip(job: ClipJob): Promise<ScoredClip> {
  const { clip, expression, out, say } = job;
  const folder = join(out, fileName(clip.id), fileName(expression.id));
  const done = await stored(join(folder, "masklets.json"));
  if (isRecord(done) && isRecord(done.result)) return done.result as unknown as ScoredClip;
  await mkdir(folder, { recursive: true });
  const first = await pictureOf(clip, 0);
  const size = { height: first.height, width: first.width };
  const frames = chosenFrames(clip.frames.length, job.choice);
  const { answer, found, objects } = await follow(job, folder, frames, size);
  const masks = objects[0] ?? clip.names.map(() => emptyMask(size));
  const result: ScoredClip = {
    clip: clip.id,
    expression: expression.id,
    text: expression.text,
    type: expression.type,
    answer,
    frames,
    found,
    score: await scoreOf(expression, masks),
  };
  for (const [at, name] of clip.names.entries()) await writePng(folder, name, masks[at] as Rle);
  await writeJson(folder, "masklets.json", { size: [size.height, size.width], frames: clip.names, objects, result });
  await rm(join(folder, STATE), { force: true });
  await rm(join(folder, "partial.json"), { force: true });
  say(`${clip.id} ${expression.id}: ${clip.frames.length} frames, ${found} masklet(s)`);
  return result;
}

interface Followed {
  readonly answer: string;
  readonly found: number;
  /** [object][frame]. */
  readonly objects: readonly (readonly Rle[])[];
}

async function follow(
  job: ClipJob,
  folder: string,
  frames: readonly number[],
  size: { readonly height: number; readonly width: number },
): Promise<Followed> {
  const { model, clip, expression, decoder, signal } = job;
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const vision = clipVision(model, await Promise.all(frames.map((frame) => pictureOf(clip, frame))));
  const prompt = segmentClipPrompt(model, expression.text, frames.length);
  const { maxNewTokens } = job;
  const { text, lang } = await (job.answers === "forced"
    ? Promise.resolve(forcedClipAnswer(model, weights, prompt, vision))
    : freeClipAnswer(model, weights, prompt, vision, { maxNewTokens, signal })
  ).finally(() => vision.dispose());
  if (lang === undefined) return { answer: text, found: 0, objects: [] };
  const kept = await openState(folder, JSON.stringify([expression.text, text, frames, decoder]));
  const byFrame = new Map<number, readonly Rle[]>(kept?.masks ?? []);
  const total = clip.frames.length;
  const pictures = { total, ...size, picture: (frame: number) => pictureOf(clip, frame) };
  let count = kept?.state.done ?? 0;
  try {
    for await (const step of masklets(model, weights, pictures, lang, {
      decoder,
      frames,
      signal,
      resume: kept?.state,
    })) {
      byFrame.set(step.frame, step.masks);
      count++;
      if (count % job.keepEvery !== 0 || count === total) continue;
      await keepState(folder, JSON.stringify([expression.text, text, frames, decoder]), await step.save(), byFrame);
    }
  } finally {
    lang.dispose();
  }
  const found = lang.shape[0] as number;
  const objects = Array.from({ length: found }, (_, object) =>
    Array.from({ length: total }, (_, frame) => (byFrame.get(frame) as readonly Rle[])[object] as Rle),
  );
  return { answer: text, found, objects };
}

/** Bank first, then the list that names it: without the list the bank is not used. */
async function keepState(
  folder: string,
  of: string,
  { done, tensors }: StoredTracking,
  masks: ReadonlyMap<number, readonly Rle[]>,
): Promise<void> {
  await writeFile(join(folder, `${STATE}~`), writeSafetensors(tensors, { done: String(done) }));
  await rename(join(folder, `${STATE}~`), join(folder, STATE));
  await writeJson(folder, "partial.json", { of, done, masks: [...masks] });
}

async function openState(
  folder: string,
  of: string,
): Promise<{ readonly state: StoredTracking; readonly masks: [number, Rle[]][] } | undefined> {
  const partial = await stored(join(folder, "partial.json"));
  if (!isRecord(partial) || partial.of !== of || !Array.isArray(partial.masks)) return undefined;
  const file = await openSafetensors(await nodeSource(join(folder, STATE)));
  if (file.metadata.done !== String(partial.done)) return undefined;
  const tensors = await Promise.all(
    file.names.map(async (name) => ({ name, shape: file.info(name).shape, data: await file.read(name) })),
  );
  const masks = (partial.masks as [number, unknown[]][]).map(([frame, own]): [number, Rle[]] => [
    frame,
    own.map(parseRle),
  ]);
  return { state: { done: partial.done as number, tensors }, masks };
}

async function scoreOf(expression: ClipExpression, masks: readonly Rle[]): Promise<ScoredClip["score"]> {
  if (expression.truth === undefined) return null;
  const truth = await expression.truth();
  const frameMask = (rle: Rle) => ({ data: decodeRle(rle), height: rle.size[0], width: rle.size[1] });
  const { j, f, jf } = maskletScore(truth.map(frameMask), masks.map(frameMask));
  return { j, f, jf };
}

async function pictureOf(clip: Clip, frame: number): Promise<RgbImage> {
  const source = clip.frames[frame];
  if (source === undefined) throw new LabError("bad-input", `Clip "${clip.id}" has no frame ${frame}`);
  return await decodeImage(await framePicture(source));
}

function emptyMask({ height, width }: { readonly height: number; readonly width: number }): Rle {
  return parseRle({ size: [height, width], counts: [height * width] });
}

async function writePng(folder: string, name: string, mask: Rle): Promise<void> {
  const [height, width] = mask.size;
  const data = decodeRle(mask).map((pixel) => 255 * pixel);
  const path = join(folder, "png", `${fileName(name)}.png`);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, encode({ width, height, data, channels: 1, depth: 8 }));
}

/** A file that appears whole. */
export async function writeJson(folder: string, name: string, value: unknown): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, `${name}~`), `${JSON.stringify(value)}\n`);
  await rename(join(folder, `${name}~`), join(folder, name));
}

async function stored(path: string): Promise<unknown> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? undefined : parseJson(text, path);
}

/** A name of the data as one of a file: no separators, no leading dots. */
function fileName(name: string): string {
  return name.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "_") || "_";
}
