/** The held-out gains that headline a run: greedy answers first, then sampled ones, alike on the page and in reports. */
import { aboutLoop, HELD_OUT_LOOPS, LOOP_IDS, type LoopId } from "../../rl/loops/abouts.ts";
import type { ScoreId } from "./evaluation-scores.ts";

export type Answers = "greedy" | "sampled";

/** What is gained, e.g. "loop 1 reward", and the scores that measure it; greedy first. */
export interface Gain {
  readonly name: string;
  readonly scores: readonly { readonly id: ScoreId; readonly answers: Answers }[];
}

const alone = (name: string, id: ScoreId): Gain => ({ name, scores: [{ id, answers: "greedy" }] });
const MASK_IOU = alone("mask IoU", "grounding_iou");

/**
 * The gains of a run, most important first. A run that trains masks alone leads with their IoU, because its reward reads
 * the partner's captions; a run without rewards has the two scores against the data set.
 * @param known scores with a difference
 * @param loops that train
 * @param of "reward": the run's reward; "loop": IoU and METEOR, which mean the same in every run
 */
export function gainsOf(known: readonly ScoreId[], loops: readonly LoopId[], of: "reward" | "loop" = "reward"): Gain[] {
  const masksAlone = loops.length > 0 && loops.every((id) => aboutLoop(id).samples === "mask");
  const trained = LOOP_IDS.filter((id) => loops.includes(id)).map((id): Gain => {
    const what = of === "reward" ? "reward" : (HELD_OUT_LOOPS.find((loop) => loop.id === id)?.score ?? "score");
    const score = (answers: Answers) => ({ id: `${of}${id}_${answers}` as ScoreId, answers });
    return { name: `loop ${id} ${what}`, scores: [score("greedy"), score("sampled")] };
  });
  const usual = [...(masksAlone ? [MASK_IOU] : []), ...trained];
  const measured = (gains: readonly Gain[]): Gain[] =>
    gains
      .map(({ name, scores }) => ({ name, scores: scores.filter(({ id }) => known.includes(id)) }))
      .filter(({ scores }) => scores.length > 0);
  const found = measured(usual);
  return found.length > 0 ? found : measured([MASK_IOU, alone("caption METEOR", "caption_meteor")]);
}
