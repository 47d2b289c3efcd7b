/** Chooses the frames of a clip for the language model (docs/spec/video.md#10-clips-and-prompts). */
import { badInput } from "../../errors.ts";

/** `first`: Sa2VA's inference; `uniform`: Sa2VA-i's; `every`: the first ones of every k-th frame. */
export type FrameChoice =
  | { readonly kind: "first"; readonly count: number }
  | { readonly kind: "uniform"; readonly count: number }
  | { readonly kind: "every"; readonly count: number; readonly step: number };

/** Frames of the published recipes. */
export const PUBLISHED_FRAMES = 5;

/**
 * Frame numbers, ascending, each once.
 * @throws LabError("bad-input") for a clip without frames
 */
export function chosenFrames(total: number, choice: FrameChoice): number[] {
  if (total < 1) throw badInput("The clip has no frames; nothing was tracked");
  const { kind, count } = choice;
  const step = kind === "first" ? 1 : kind === "every" ? choice.step : (total - 1) / Math.max(count - 1, 1);
  // As in numpy's linspace: each product is rounded as computed, and the last value is exact.
  const last = kind === "uniform" && count > 1 ? count - 1 : undefined;
  const frames = Array.from({ length: count }, (_, at) => (at === last ? total - 1 : Math.trunc(at * step)));
  return [...new Set(frames)].filter((frame) => frame < total);
}

/** "first", "uniform" or "every:K" as a choice; undefined for anything else. */
export function parseFrameChoice(text: string, count: number): FrameChoice | undefined {
  if (text === "first" || text === "uniform") return { kind: text, count };
  const step = Number(/^every:(\d+)$/.exec(text)?.[1] ?? 0);
  return step >= 1 ? { kind: "every", count, step } : undefined;
}
