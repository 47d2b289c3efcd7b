/** How expressions are followed through clips, from the command line. */

import { badInput } from "../../src/engine/errors.ts";
import { type FollowSettings, parseFrameChoice } from "../../src/plugins/clips/follow.ts";
import { CLIP_DECODERS } from "../../src/plugins/clips/masklets.ts";
import { PUBLISHED_FRAMES } from "../../src/plugins/try-out/answer-question.ts";
import { one, type Parsed, whole } from "./arguments.ts";

export const FOLLOW_OPTIONS = { choose: { takes: 1 }, frames: { takes: 1 }, decoder: { takes: 1 } } as const;

/** Decoder and frames; the published ones by default. @throws LabError("bad-input") naming the option */
export function followOptions(parsed: Parsed): Pick<FollowSettings, "choice" | "decoder"> {
  const decoder = oneOf(parsed, "decoder", CLIP_DECODERS);
  const text = one(parsed, "choose") ?? (decoder === "consistent" ? "uniform" : "first");
  const choice = parseFrameChoice(text, whole(parsed, "frames", 1, 64, PUBLISHED_FRAMES));
  if (choice !== undefined) return { choice, decoder };
  throw badInput(`--choose is "${text}", it must be first, uniform or every:K`, "choose");
}

/** Decoder and frames in words; they identify an evaluation. */
export function followText({ choice, decoder }: Pick<FollowSettings, "choice" | "decoder">): string {
  const kind = choice.kind === "every" ? `every ${choice.step}` : choice.kind;
  return `${decoder}, ${kind}, ${choice.count} frames`;
}

/** One of some words; the first when the option is absent. @throws LabError("bad-input") */
export function oneOf<T extends string>(parsed: Parsed, name: string, values: readonly [T, ...(readonly T[])]): T {
  const text = one(parsed, name) ?? values[0];
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw badInput(`--${name} is "${text}", it must be one of ${values.join(", ")}`, name);
}
