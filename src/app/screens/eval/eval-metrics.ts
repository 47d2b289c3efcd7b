/** Titles and help of the held-out scores. */
import type { LoopAbout } from "../../../engine/rl/loops/about.ts";
import { LOOPS } from "../../../engine/rl/loops/abouts.ts";
import type { ScoreId } from "../../../engine/runs/evaluation-scores.ts";
import type { EvalReport } from "../../../engine/runs/evaluations.ts";

export interface EvalMetricText {
  readonly id: ScoreId;
  readonly title: string;
  readonly help: string;
}

const TEXTS: readonly EvalMetricText[] = [
  {
    id: "reward1_sampled",
    title: "Loop 1 reward, sampled",
    help: "The reward that the run trains on, for four captions a row sampled as in training",
  },
  { id: "reward1_greedy", title: "Loop 1 reward, greedy", help: "The same for the policy's greedy caption" },
  {
    id: "reward2_sampled",
    title: "Loop 2 reward, sampled",
    help: "The reward that the run trains on, for masks sampled by the run's mask policy",
  },
  { id: "reward2_greedy", title: "Loop 2 reward, greedy", help: "The same for the policy's mask without noise" },
  ...LOOPS.filter((loop: LoopAbout) => loop.optional === true).flatMap(({ id, arrow, textName }): EvalMetricText[] => [
    {
      id: `reward${id}_sampled`,
      title: `Loop ${id} reward, sampled`,
      help: `${arrow}: the reward that the run trains on, for four texts a row sampled as in training`,
    },
    {
      id: `reward${id}_greedy`,
      title: `Loop ${id} reward, greedy`,
      help: `The same for the policy's greedy ${textName}`,
    },
  ]),
  {
    id: "loop1_sampled",
    title: "Loop 1 IoU, sampled",
    help: "mask → caption → mask′: IoU for four captions a row sampled as in training",
  },
  { id: "loop1_greedy", title: "Loop 1 IoU, greedy", help: "The same for the policy's greedy caption" },
  {
    id: "loop2_sampled",
    title: "Loop 2 METEOR, sampled",
    help: "caption → mask → caption′: METEOR, without judge, for masks sampled by the run's mask policy",
  },
  { id: "loop2_greedy", title: "Loop 2 METEOR, greedy", help: "The same for the policy's mask without noise" },
  {
    id: "grounding_iou",
    title: "Grounding IoU",
    help: "IoU of the policy's mask for the true caption; it falls when masks drift",
  },
  {
    id: "caption_meteor",
    title: "Caption METEOR",
    help: "METEOR of the greedy caption against the true one; it falls when policy and partner develop a private language",
  },
];

/** Sampling of older versions, which ignored the run's settings. */
const OLDER_HELP: Readonly<Partial<Record<ScoreId, string>>> = {
  loop1_sampled: "mask → caption → mask′: IoU for four captions a row sampled at temperature 1",
  loop2_sampled: "caption → mask → caption′: METEOR over SAM2's candidates, weighted by their probability",
};

/** Titles and help for an evaluation: they depend on its version and on whether the judge is counted. */
export function evalTexts({ reward, maskPolicy }: Pick<EvalReport, "reward" | "maskPolicy">): EvalMetricText[] {
  return TEXTS.map((text) => {
    if (text.id.startsWith("reward") && reward?.judge === "left-out") {
      return { ...text, title: `${text.title}, without judge`, help: `${text.help}; the judge was not used` };
    }
    const older = maskPolicy === undefined ? OLDER_HELP[text.id] : undefined;
    return older === undefined ? text : { ...text, help: older };
  });
}
