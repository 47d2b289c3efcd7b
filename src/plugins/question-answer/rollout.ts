/**
 * Loop 3: question about the marked region → answer (policy); the reward compares it with the row's answer. There is no
 * partner, because the data set holds the right answer.
 */
import type { QuestionAnswer } from "../../engine/data/sample.ts";
import type { TrainingRow } from "../../engine/data/training-row.ts";
import { LabError } from "../../engine/errors.ts";
import type { EvaluateLoop } from "../../engine/eval/held-out.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import type { ImageFeatures } from "../../engine/policy/features.ts";
import { type CaptionPrompt, questionPrompt, type RegionCells, rowCells } from "../../engine/policy/prompts.ts";
import { rewardPlan } from "../../engine/rewards/composer/plan.ts";
import type { RolloutFacts } from "../../engine/rewards/term.ts";
import { type Loop, REGION_ROWS } from "../../engine/rl/loops/loop.ts";
import {
  type AnswerText,
  answerText,
  drawnTexts,
  heldOutTexts,
  type SampledTexts,
  sampleTexts,
  TEXT_LENGTH,
  textFields,
  textRollouts,
} from "../../engine/rl/loops/texts.ts";
import { type StepContext, withFeatures } from "../../engine/rl/step/context.ts";
import type { Group, LoopRollouts } from "../../engine/rl/step/group.ts";
import { QUESTION_ANSWER } from "./index.ts";

const { id: LOOP } = QUESTION_ANSWER;

export const questionAnswer: Loop = {
  usable: (model, row, config) => questionsOf(row).length > 0 && REGION_ROWS.usable(model, row, config),
  needs: { subject: "loop3Weight", text: "has a question with an answer; set loop3Weight to 0" },
  rollout,
  longest: TEXT_LENGTH,
  evaluate,
  async look({ model, config, step }, row, features) {
    const cells = rowCells(model, row, config.smallRegions === "force", features.grid);
    return { prompt: promptOf(model, questionAt(row, step).question, features, cells), mask: null };
  },
};

function questionsOf({ summary: { questions = [] } }: TrainingRow): readonly QuestionAnswer[] {
  return questions;
}

/** The question of a row in a step; successive steps use successive questions. */
function questionAt(row: TrainingRow, step: number): QuestionAnswer {
  const questions = questionsOf(row);
  const found = questions[step % Math.max(1, questions.length)];
  if (found === undefined) throw new LabError("internal", `Row ${row.summary.id} has no question`);
  return found;
}

function promptOf(model: Sa2vaModel, question: string, features: ImageFeatures, cells: RegionCells): CaptionPrompt {
  return { ...questionPrompt(model, question, { features, regions: [cells] }), cells };
}

/** One group per row: G answers to a question of the row, scored against the row's answer. */
async function rollout(context: StepContext, rows: readonly TrainingRow[]): Promise<LoopRollouts> {
  const { model, config, step } = context;
  await context.phase("features", LOOP);
  return withFeatures(context, rows, async (features) => {
    await context.phase("generate", LOOP);
    const prompts = rows.map((row, group) => {
      const own = features[group] as ImageFeatures;
      const cells = rowCells(model, row, config.smallRegions === "force", own.grid);
      return promptOf(model, questionAt(row, step).question, own, cells);
    });
    const sampled = await sampleTexts(context, LOOP, rows, prompts, features);
    await context.phase("reward", LOOP, () =>
      drawnTexts(context, LOOP, sampled, (group) => ({
        referenceCaption: questionAt(rows[group] as TrainingRow, step).answer,
      })),
    );
    const scored = await Promise.all(sampled.map((item) => score(context, item)));
    return textRollouts(context, LOOP, sampled, scored);
  });
}

async function score(context: StepContext, item: SampledTexts): Promise<Pick<Group, "rollouts" | "metrics">> {
  const { row, completions, texts } = item;
  const { answer } = questionAt(row, context.step);
  const facts = completions.map((completion, n) =>
    factsOf(row, answer, answerText(context.model, completion, texts[n] as string)),
  );
  const scored = await context.scorer.scoreGroup(facts, rewardPlan(context.config), context.signal);
  const rollouts = scored.map(({ reward, terms }, n) => {
    return { ...textFields(context, item, n), referenceCaption: answer, predictedMask: null, reward, terms };
  });
  return { rollouts, metrics: {} };
}

function factsOf({ summary }: TrainingRow, reference: string, text: AnswerText): RolloutFacts {
  return { loop: LOOP, reference, given: summary.mask, predicted: null, confidence: null, ...text };
}

/** Evaluates the first question of every held-out row that has one. */
async function evaluate(...[deps, rows]: Parameters<EvaluateLoop>): ReturnType<EvaluateLoop> {
  const asked = rows.filter(({ row }) => questionsOf(row).length > 0);
  const prompts = asked.map(({ row, features, cells }) => {
    return promptOf(deps.model, questionAt(row, 0).question, features, cells);
  });
  const texts = await heldOutTexts(deps, LOOP, asked, prompts);
  return rows.map((one) => {
    const at = asked.indexOf(one);
    if (at < 0) return undefined;
    const { row } = one;
    const [greedy, ...sampled] = (texts[at] as AnswerText[]).map((text) =>
      factsOf(row, questionAt(row, 0).answer, text),
    );
    return { greedy: greedy as RolloutFacts, sampled, weights: null };
  });
}
