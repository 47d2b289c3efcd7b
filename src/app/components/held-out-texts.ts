import type { LoopAbout } from "../../engine/rl/loops/about.ts";
import { aboutLoop, HELD_OUT_LOOPS, isLoop, LOOPS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import { rowScoreOf, type ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { Drawn, JudgeUse, RowScores } from "../../engine/runs/evaluations/evaluations.ts";

/** `score` is null where it was not stored. */
export interface RowAnswer extends Omit<Drawn, "weight"> {
  /** Whose mask it is. */
  readonly maskOf: "policy" | "partner";
  readonly greedy: boolean;
}

/** Loop of a score; null for one that compares with the data set alone. */
function loopOf(id: ScoreId): LoopId | null {
  const loop = Number(/^(?:loop|reward)(\d)_/.exec(id)?.[1]);
  return isLoop(loop) ? loop : null;
}

/** The policy, or the partner where the score is about its masks for the policy's captions. */
export function maskOwner(id: ScoreId): RowAnswer["maskOf"] {
  const loop = loopOf(id);
  return id === "grounding_iou" || (loop !== null && aboutLoop(loop).samples === "mask") ? "policy" : "partner";
}

export function isSampled(id: ScoreId): boolean {
  return id.endsWith("_sampled");
}

/** The sampled answers of a sampled score, else the greedy one. */
export function answersOf(row: RowScores, id: ScoreId): readonly RowAnswer[] {
  const loop = loopOf(id);
  const drawn = isSampled(id) && loop !== null ? row.drawn[loop] : undefined;
  return drawn === undefined
    ? [greedyAnswer(row, id)]
    : drawn.map(({ caption, mask, score }) => ({ caption, mask, maskOf: maskOwner(id), score, greedy: false }));
}

/** The answer without sampling. */
export function greedyAnswer(row: RowScores, id: ScoreId): RowAnswer {
  const greedy = id.replace("_sampled", "_greedy");
  // Beside drawn answers, whose rewards are kept by row, it has the score that these have.
  const own = id === greedy ? greedy : greedy.replace("reward", "loop");
  const score = rowScoreOf(row, own as ScoreId) ?? rowScoreOf(row, greedy as ScoreId);
  const maskOf = maskOwner(id);
  return maskOf === "policy"
    ? { caption: row.captionPrime, mask: row.maskGreedy, maskOf, score, greedy: true }
    : { caption: row.captionGreedy, mask: row.maskPrime, maskOf, score, greedy: true };
}

/** The partner's own answer for a truth score; null for other scores. */
export function partnerAnswer(row: RowScores, id: ScoreId): RowAnswer | null {
  const own = { maskOf: "partner", greedy: true } as const;
  if (id === "grounding_iou") return { ...own, caption: row.caption, mask: row.partnerMask, score: row.partnerIou };
  if (id !== "caption_meteor") return null;
  return { ...own, caption: row.partnerCaption, mask: null, score: row.partnerMeteor ?? null };
}

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
  const drawn = prefix === "reward" && heldOut !== undefined ? `. Numbers below pictures are ${heldOut}` : "";
  const score = (kind: "sampled" | "greedy") => `${prefix}${id}_${kind}` as ScoreId;
  return [
    { id: score("greedy"), title: `Loop ${id} ${what}, greedy`, help: `${help} for the policy's ${greedy}` },
    { id: score("sampled"), title: `Loop ${id} ${what}, sampled`, help: `The same for ${sampled}${drawn}` },
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
