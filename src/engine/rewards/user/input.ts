/** Input of a custom reward: facts of a rollout, with masks as run lengths that are decoded on demand. */
import { type Rle, rleArea, rleBox, rleRuns } from "../../data/mask/rle.ts";
import type { RewardTerm, RolloutFacts } from "../term.ts";

/** Plain data for rollout `at` of a group; ROLLOUT_TYPES in guide.ts documents it. */
export function userInput(
  group: readonly RolloutFacts[],
  terms: readonly (readonly RewardTerm[])[],
  at: number,
): Readonly<Record<string, unknown>> {
  const facts = group[at] as RolloutFacts;
  const own = terms[at] ?? [];
  const overlap = own.find((term) => term.iou !== undefined)?.iou;
  return {
    loop: facts.loop,
    caption: facts.caption ?? "",
    reference: facts.reference ?? "",
    given: plainMask(facts.given),
    predicted: plainMask(facts.predicted),
    confidence: facts.confidence,
    truncated: facts.truncated,
    iou:
      overlap === undefined
        ? null
        : { ...overlap, value: overlap.union === 0 ? 0 : overlap.intersection / overlap.union },
    meteor: own.find((term) => term.meteor !== undefined)?.meteor ?? null,
    terms: Object.fromEntries(own.map((term) => [term.name, term.value])),
    group: { index: at, size: group.length, captions: group.map((rollout) => rollout.caption ?? "") },
  };
}

function plainMask(mask: Rle | null) {
  if (mask === null) return null;
  const [height, width] = mask.size;
  return { height, width, area: rleArea(mask), box: rleBox(mask), runs: rleRuns(mask) };
}
