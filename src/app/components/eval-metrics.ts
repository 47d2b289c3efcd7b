/** Titles and help of the held-out scores. */
import type { LoopAbout } from "../../engine/rl/loops/about.ts";
import { aboutLoop, HELD_OUT_LOOPS, LOOPS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import type { ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { JudgeUse } from "../../engine/runs/evaluations/evaluations.ts";

export interface EvalMetricText {
  readonly id: ScoreId;
  readonly title: string;
  readonly help: string;
}

/**
 * The two scores of a loop.
 * @param what the number, e.g. "IoU"
 * @param help what it measures, without the rollouts it covers
 */
function pair(
  { id, samples, textName, heldOut }: LoopAbout<LoopId>,
  prefix: "reward" | "loop",
  what: string,
  help: string,
): EvalMetricText[] {
  const [sampled, greedy] =
    samples === "text"
      ? [`four ${textName}s per row, sampled as in training`, `greedy ${textName}`]
      : ["masks sampled by the run's mask policy", "mask without noise"];
  // Rewards are kept by row, scores by answer.
  const shown = prefix === "reward" && heldOut !== undefined ? `. Numbers beside pictures are ${heldOut}` : "";
  const score = (kind: "sampled" | "greedy") => `${prefix}${id}_${kind}` as ScoreId;
  return [
    { id: score("greedy"), title: `Loop ${id} ${what}, greedy`, help: `${help} for the policy's ${greedy}${shown}` },
    { id: score("sampled"), title: `Loop ${id} ${what}, sampled`, help: `The same for ${sampled}${shown}` },
  ];
}

const TEXTS: readonly EvalMetricText[] = [
  ...LOOPS.flatMap((loop) => pair(loop, "reward", "reward", "The reward that the run trains on,")),
  ...HELD_OUT_LOOPS.flatMap(({ id, score }) => {
    const loop = aboutLoop(id);
    return pair(loop, "loop", score, `${loop.arrow}: ${score}${score === "METEOR" ? ", without judge," : ""}`);
  }),
  {
    id: "grounding_iou",
    title: "Grounding IoU",
    help: "IoU of the policy's mask for the true caption; it falls when masks drift",
  },
  {
    id: "caption_meteor",
    title: "Caption METEOR",
    help: "METEOR of the greedy caption against the true one; it falls when policy and partner agree on wording that the data does not have",
  },
];

/** Titles and help for an evaluation: they depend on whether the judge is counted. */
export function evalTexts(judge: JudgeUse): EvalMetricText[] {
  return TEXTS.map((text) => {
    if (text.id.startsWith("reward") && judge === "left-out") {
      return { ...text, title: `${text.title}, without judge`, help: `${text.help}; the judge was not used` };
    }
    return text;
  });
}
