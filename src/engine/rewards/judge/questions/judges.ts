/**
 * Question judge: questions are generated from the reference caption once and answered from the predicted caption, and
 * each answer is scored. The score is (Σ positive + Σ negative) / (number of positive + number of negative). The design
 * notes call this the judge; the benchmark they cite has prepared questions, which is the other kind of judge.
 */

import { sha256Hex } from "../../../bytes/hash.ts";
import { pythonStrip } from "../../../bytes/text.ts";
import { type JudgeQuestion, parseAnswer } from "../../judge-score.ts";
import type { AskSession, JudgeKind } from "../judge-kind.ts";
import { together } from "../providers/caller.ts";
import { type ChatMessage, type ChatRequest, JudgeFailure } from "../providers/provider.ts";
import { answersPrompt, dlcPrompt, type JudgePrompts, plainCaption, questionsPrompt } from "./prompts.ts";
import {
  answerSchema,
  hashShuffle,
  type QuestionCounts,
  questionSchema,
  readLetters,
  readQuestions,
  type WrittenQuestions,
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

// * DLC-style judge: prepared questions, one call each; answers are read as in the benchmark (describe-anything's
// evaluation, docs/spec/rewards.md#3a-benchmark-judge). If the original stops or indexes past the choices, there is no
// verdict.

/** The limit of the benchmark. */
const DLC_TOKENS = 300;
/** How the user gets shorter replies, because the limit is fixed. */
const DLC_LONGER = "choose a judgeModel that answers without reasoning";

export function dlcJudge(settings: { readonly prompts: JudgePrompts; readonly written: WrittenQuestions }): JudgeKind {
  const { prompts, written } = settings;
  return {
    name: "dlc",
    async examine({ reference, hypothesis, pictures }, session) {
      const questions = written.find(reference);
      if (questions === null) {
        throw new JudgeFailure("no-questions", `${written.name} has no questions for this reference caption`);
      }
      const responses = await together(
        questions.map(({ question, choices }) => {
          const texts = choices.map(([text]) => text);
          const content = dlcPrompt(prompts, hypothesis, { question, choices: texts });
          const message: ChatMessage = { role: "user", content, ...(pictures === undefined ? {} : { pictures }) };
          const request = { messages: [message], schema: null, maxTokens: DLC_TOKENS };
          return session.reply(
            request,
            (text, cut) => {
              const reply = text.replace(/^[\s\S]*<\/think>/, "");
              if (cut && !beginsWithChoice(reply, texts)) {
                throw new JudgeFailure("wrong-form", "The model's reply was cut off before it named a choice", {
                  raw: text,
                });
              }
              const parsed = parseAnswer(reply, texts);
              if (parsed.kind === "no-verdict") throw new JudgeFailure("wrong-form", parsed.reason, { raw: text });
              return reply;
            },
            DLC_LONGER,
          );
        }),
      );
      return { questions, responses };
    },
  };
}

/**
 * Whether a reply starts with a choice. In an incomplete reply nothing else can be trusted, because unfinished
 * reasoning may mention choices.
 */
function beginsWithChoice(reply: string, choices: readonly string[]): boolean {
  const answer = pythonStrip(reply).toLowerCase();
  return (
    /^[a-e](?:[.\n]|$)/.test(answer) || choices.some((choice) => answer.startsWith(pythonStrip(choice).toLowerCase()))
  );
}
