/** One expression about a clip: the answer of the language model, and a masklet for each [SEG] it holds. */
import type { Rle } from "../../data/mask/rle.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { StoredTracking } from "../../model/sam2/video/clip.ts";
import type { Weights } from "../../model/weights/weights.ts";
import { clipVision, forcedClipAnswer, freeClipAnswer, segmentClipPrompt } from "./clip-prompt.ts";
import { chosenFrames, type FrameChoice } from "./frames.ts";
import { type ClipDecoder, type ClipPictures, masklets } from "./masklets.ts";

export interface FollowSettings {
  /** Frames that the language model sees. */
  readonly choice: FrameChoice;
  readonly decoder: ClipDecoder;
  readonly answers: "free" | "forced";
  /** Of a free answer. */
  readonly maxNewTokens: number;
}

/** Frames that are done, in the order of the work. */
export interface KeptFrames {
  readonly state: StoredTracking;
  /** Masks of all objects by frame. */
  readonly masks: ReadonlyMap<number, readonly Rle[]>;
}

export interface FollowKeeper {
  /** Frames between two calls of `keep`. */
  readonly every: number;
  /** What was kept of this answer to this question, if anything. @param of question, answer and settings as text */
  find(of: string): Promise<KeptFrames | undefined>;
  keep(of: string, kept: KeptFrames): Promise<void>;
  /** After every frame. @param done frames so far @param bankBytes what tracking holds then */
  seen?(done: number, bankBytes: number): void;
}

export interface Followed {
  readonly answer: string;
  readonly frames: readonly number[];
  /** One masklet a [SEG], [object][frame]. */
  readonly masklets: readonly (readonly Rle[])[];
}

/**
 * @throws LabError("cancelled") when the signal fires, LabError("bad-input") for an unusable frame; what was kept stays
 */
export async function followExpression(
  model: Sa2vaModel,
  weights: Weights,
  pictures: ClipPictures,
  expression: string,
  settings: FollowSettings,
  signal: AbortSignal,
  keeper?: FollowKeeper,
): Promise<Followed> {
  const { decoder, answers } = settings;
  const { total } = pictures;
  const frames = chosenFrames(total, settings.choice);
  const seen = [];
  for (const frame of frames) seen.push(await pictures.picture(frame));
  const vision = clipVision(model, seen);
  const prompt = segmentClipPrompt(model, expression, frames.length);
  const { text, lang } = await (answers === "forced"
    ? Promise.resolve(forcedClipAnswer(model, weights, prompt, vision))
    : freeClipAnswer(model, weights, prompt, vision, { ...settings, signal })
  ).finally(() => vision.dispose());
  if (lang === undefined) return { answer: text, frames, masklets: [] };
  const of = JSON.stringify([expression, text, frames, decoder]);
  try {
    const kept = await keeper?.find(of);
    const masks = new Map(kept?.masks ?? []);
    let done = kept?.state.done ?? 0;
    const options = { decoder, frames, signal, resume: kept?.state };
    for await (const step of masklets(model, weights, pictures, lang, options)) {
      masks.set(step.frame, step.masks);
      done++;
      keeper?.seen?.(done, step.bankBytes);
      if (keeper !== undefined && done % keeper.every === 0 && done < total) {
        await keeper.keep(of, { state: await step.save(), masks });
      }
    }
    const found = Array.from({ length: lang.shape[0] as number }, (_, object) =>
      Array.from({ length: total }, (_, frame) => (masks.get(frame) as readonly Rle[])[object] as Rle),
    );
    return { answer: text, frames, masklets: found };
  } finally {
    lang.dispose();
  }
}
