/**
 * Loop 3: question about the marked region → answer (policy); the reward compares it with the row's answer. There is no
 * partner, because the data set holds the right answer.
 */
import type { QuestionAnswer } from "../../engine/data/sample.ts";
import type { TrainingRow } from "../../engine/data/training-row.ts";
import { LabError } from "../../engine/errors.ts";
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
import type { Group, LoopRollouts } from "../../engine/rl/step/group.ts";
import type { EvaluateLoop } from "../../engine/rl/step/held-out.ts";
import { type Step, withFeatures } from "../../engine/rl/step/step.ts";
import { QUESTION_ANSWER } from "./index.ts";

const { id: LOOP } = QUESTION_ANSWER;

export const questionAnswer: Loop = {
  usable: (model, row, config) => questionsOf(row).length > 0 && REGION_ROWS.usable(model, row, config),
  needs: { subject: "loop3Weight", text: "has a question with an answer; set loop3Weight to 0" },
  rollout,
  longest: TEXT_LENGTH,
  evaluate,
  async look({ model, config, number }, row, features) {
    const cells = rowCells(model, row, config.smallRegions === "force", features.grid);
    return { prompt: promptOf(model, questionAt(row, number).question, features, cells), mask: null };
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
async function rollout(step: Step, rows: readonly TrainingRow[]): Promise<LoopRollouts> {
  const { model, config } = step;
  await step.phase("features", LOOP);
  return withFeatures(step, rows, async (features) => {
    await step.phase("generate", LOOP);
    const prompts = rows.map((row, group) => {
      const own = features[group] as ImageFeatures;
      const cells = rowCells(model, row, config.smallRegions === "force", own.grid);
      return promptOf(model, questionAt(row, step.number).question, own, cells);
    });
    const sampled = await sampleTexts(step, LOOP, rows, prompts, features);
    await step.phase("reward", LOOP, () =>
      drawnTexts(step, LOOP, sampled, (group) => ({
        referenceCaption: questionAt(rows[group] as TrainingRow, step.number).answer,
      })),
    );
    const scored = await Promise.all(sampled.map((item) => score(step, item)));
    return textRollouts(step, LOOP, sampled, scored);
  });
}

async function score(step: Step, item: SampledTexts): Promise<Pick<Group, "rollouts" | "metrics">> {
  const { row, completions, texts } = item;
  const { answer } = questionAt(row, step.number);
  const facts = completions.map((completion, n) =>
    factsOf(row, answer, answerText(step.model, completion, texts[n] as string)),
  );
  const scored = await step.scorer.scoreGroup(facts, rewardPlan(step.config), step.signal);
  const rollouts = scored.map(({ reward, terms }, n) => {
    return { ...textFields(step, item, n), referenceCaption: answer, predictedMask: null, reward, terms };
  });
  return { rollouts, metrics: {} };
}

function factsOf({ summary }: TrainingRow, reference: string, text: AnswerText): RolloutFacts {
  return { loop: LOOP, reference, given: summary.mask, predicted: null, confidence: null, ...text };
}

/** Evaluates the first question of every held-out row that has one. */
async function evaluate(...[step, rows]: Parameters<EvaluateLoop>): ReturnType<EvaluateLoop> {
  const asked = rows.filter(({ row }) => questionsOf(row).length > 0);
  const prompts = asked.map(({ row, features, cells }) => {
    return promptOf(step.model, questionAt(row, 0).question, features, cells);
  });
  const texts = await heldOutTexts(step, LOOP, asked, prompts);
  return rows.map((one) => {
    const at = asked.indexOf(one);
    if (at < 0) return undefined;
    const { row } = one;
    const [greedy, ...sampled] = (texts[at] as AnswerText[]).map((text) =>
      factsOf(row, questionAt(row, 0).answer, text),
    );
    return { greedy: greedy as RolloutFacts, sampled, probabilities: null };
  });
}
