/**
 * DLC-style judge: prepared questions, one call each; answers are read as in the benchmark (describe-anything's
 * evaluation, docs/spec/rewards.md#3a-benchmark-judge). If the original stops or indexes past the choices, there is no
 * verdict.
 */

import { pythonStrip } from "../../../bytes/text.ts";
import { parseAnswer } from "../../judge-score.ts";
import { dlcPrompt } from "../asked.ts";
import type { JudgeKind } from "../judge-kind.ts";
import { together } from "../providers/caller.ts";
import type { ChatMessage } from "../providers/provider.ts";
import { JudgeFailure } from "../providers/provider.ts";
import type { JudgePrompts } from "./prompts.ts";
import type { WrittenQuestions } from "./question-set.ts";

/** The limit of the benchmark. */
const MAX_TOKENS = 300;
/** How the user gets shorter replies, because the limit is fixed. */
const LONGER = "choose a judgeModel that answers without reasoning";

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
          const request = { messages: [message], schema: null, maxTokens: MAX_TOKENS };
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
            LONGER,
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
