/**
 * Question judge: questions are generated from the reference caption once and answered from the predicted caption, and
 * each answer is scored. The score is (Σ positive + Σ negative) / (number of positive + number of negative). The design
 * notes call this the judge; the benchmark they cite has prepared questions, which is the other kind of judge.
 */
import { sha256Hex } from "../../../bytes/hash.ts";
import type { JudgeQuestion } from "../../judge-score.ts";
import { answersPrompt, questionsPrompt } from "../asked.ts";
import type { AskSession, JudgeKind } from "../judge-kind.ts";
import type { ChatRequest } from "../providers/provider.ts";
import { JudgeFailure } from "../providers/provider.ts";
import { type JudgePrompts, plainCaption } from "./prompts.ts";
import {
  answerSchema,
  hashShuffle,
  type QuestionCounts,
  questionSchema,
  readLetters,
  readQuestions,
} from "./question-set.ts";

/** How the user allows longer replies. */
const LONGER = "raise judgeMaxTokens";

interface QuestionJudgeSettings extends QuestionCounts {
  readonly prompts: JudgePrompts;
  /** Maximum tokens of a reply. */
  readonly maxTokens: number;
}

export function questionJudge(settings: QuestionJudgeSettings): JudgeKind {
  return {
    name: "questions",
    async examine({ reference, hypothesis }, session) {
      const described = plainCaption(reference);
      if (described === "")
        throw new JudgeFailure("no-questions", "The reference caption is empty, so there is nothing to ask");
      const questions = await makeQuestions(described, settings, session);
      const request = answerRequest(questions, hypothesis, settings);
      return { questions, responses: await session.reply(request, (text) => readLetters(text, questions), LONGER) };
    },
  };
}

/** Questions about a reference; one request for all rollouts of a group. @throws JudgeFailure */
async function makeQuestions(
  reference: string,
  settings: QuestionJudgeSettings,
  session: AskSession,
): Promise<readonly JudgeQuestion[]> {
  const { prompts, maxTokens } = settings;
  const content = questionsPrompt(prompts, reference, settings);
  const shuffle = hashShuffle(await sha256Hex(new TextEncoder().encode(content)));
  const request: ChatRequest = {
    messages: [{ role: "user", content }],
    schema: questionSchema(settings),
    maxTokens,
  };
  return session.reply(request, (text) => readQuestions(text, settings, shuffle), LONGER);
}

function answerRequest(
  questions: readonly JudgeQuestion[],
  hypothesis: string,
  { prompts, maxTokens }: QuestionJudgeSettings,
): ChatRequest {
  const asked = questions.map(({ question, choices }) => ({ question, choices: choices.map(([text]) => text) }));
  const content = answersPrompt(prompts, hypothesis, asked);
  return { messages: [{ role: "user", content }], schema: answerSchema(questions), maxTokens };
}
