/** Settings of the group "run": length, loops, intervals. */
import type { LoopAbout } from "../../rl/loops/about.ts";
import { HELD_OUT_LOOPS, LOOPS, type LoopId } from "../../rl/loops/abouts.ts";
import { choice, flag, float, inGroup, int, oneOf } from "../setting.ts";

const loopWeights = LOOPS.map(({ id, optional, task }: LoopAbout) => [
  `loop${id}Weight`,
  float(`Loop ${id} weight`, optional === true ? 0 : 1, [0, 10, 0.1], {
    help: `Weight of loop ${id}'s loss in the sum${optional === true ? `. Above 0, ${task} trains together with both loops` : ""}`,
  }),
]);
const LOOP_WEIGHTS: Readonly<Record<`loop${LoopId}Weight`, ReturnType<typeof float>>> = Object.fromEntries(loopWeights);

export const RUN_SETTINGS = inGroup("run", {
  seed: int("Seed", 1, [0, 4294967295], {
    trl: "seed",
    help: "Determines data order, sampling and adapter initialisation. On the same GPU, the same seed repeats a run exactly",
    main: true,
  }),
  mode: oneOf("Mode", "rl", {
    choices: [choice("rl", "Dual-loop GRPO"), choice("sft", "Supervised")],
    help: "GRPO samples rollouts and rewards them. Supervised mode trains the same tensors on the captions and masks of the rows",
  }),
  steps: int("Steps", 30, [1, 100000], {
    trl: "max_steps",
    help: "Number of optimiser steps",
    main: true,
  }),
  loops: oneOf("Loops", "both", {
    choices: [choice("both", "Both loops"), ...LOOPS.map(({ id, task }) => choice(`${id}`, `Loop ${id}: ${task}`))],
    help: "Loops that train. “Both” sums their weighted losses in every step. In supervised mode, loop 1 trains captions and loop 2 trains masks",
    main: true,
  }),
  ...LOOP_WEIGHTS,
  saveSteps: int("Checkpoint every", 10, [0, 100000], {
    unit: "steps",
    trl: "save_steps",
    help: "Saves weights, optimiser, EMA and trainer state to the run folder; 0 saves only at the end",
    main: true,
  }),
  keepCheckpoints: int("Keep checkpoints", 2, [1, 100], {
    trl: "save_total_limit",
    help: "Number of recent checkpoints to keep. If held-out rows are evaluated, the best checkpoint is always kept",
  }),
  evalSteps: int("Evaluate every", 0, [0, 100000], {
    unit: "steps",
    trl: "eval_steps",
    help: "Evaluates the held-out rows at the start, every N steps and at the end, with fixed seeds; 0 is off",
    main: true,
  }),
  bestMetric: oneOf("Best checkpoint by", "reward", {
    choices: [
      choice("reward", "Run reward, sampled"),
      choice("reward_greedy", "Run reward, greedy"),
      ...HELD_OUT_LOOPS.flatMap(({ id, score }) => [
        choice(`loop${id}_sampled`, `Loop ${id} ${score}, sampled`),
        choice(`loop${id}_greedy`, `Loop ${id} ${score}, greedy`),
      ]),
      choice("grounding_iou", "Grounding IoU"),
      choice("caption_meteor", "Caption METEOR"),
    ],
    help: "Score whose mean over the selection rows chooses the best checkpoint. The run reward is the reward that the run trains on, averaged over its loops; the other scores ignore the judge and custom rewards",
  }),
  evalRows: int("Evaluation rows", 32, [2, 10000], {
    unit: "rows",
    help: "Held-out rows that an evaluation scores; selectionShare of them choose the best checkpoint, the rest are reported. More rows give narrower intervals",
  }),
  evalJudge: flag("Judge held-out rows", true, {
    help: "Uses the judge in evaluations if the reward has a judge term; its requests count against the budget of training. If off, held-out rewards are labelled “without judge”",
  }),
});
