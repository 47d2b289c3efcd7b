/**
 * DLC-style judge: questions written beforehand, one call each, answers read as the benchmark reads them
 * (describe-anything's evaluation, rewards.md §3a). Where the original stops or points past the choices there is no
 * verdict.
 */
import { parseAnswer } from "../judge-score.ts";
import { JudgeFailure } from "./failure.ts";
import type { Instrument } from "./instrument.ts";
import { fillPrompt, type JudgePrompts, plainCaption } from "./prompts.ts";
import type { WrittenQuestions } from "./question-file.ts";
import { choiceText } from "./question-set.ts";

/** The benchmark's own limit. */
const MAX_TOKENS = 300;

export function dlcJudge(settings: { readonly prompts: JudgePrompts; readonly written: WrittenQuestions }): Instrument {
  const { prompts, written } = settings;
  return {
    name: "dlc",
    async examine({ reference, hypothesis }, session) {
      const questions = written.find(reference);
      if (questions === null) {
        throw new JudgeFailure("no-questions", `${written.name} has no questions for this reference caption`);
      }
      const caption = plainCaption(hypothesis);
      const responses = await Promise.all(
        questions.map(({ question, choices }) => {
          const content = fillPrompt(prompts.dlc, { caption, question, choices: choiceText(choices) });
          const request = { messages: [{ role: "user", content }], schema: null, maxTokens: MAX_TOKENS } as const;
          const texts = choices.map(([text]) => text);
          return session.reply(request, (text) => {
            const reply = text.replace(/^[\s\S]*<\/think>/, "");
            const parsed = parseAnswer(reply, texts);
            if (parsed.kind === "no-verdict") throw new JudgeFailure("wrong-form", parsed.reason, { raw: text });
            return reply;
          });
        }),
      );
      return { questions, responses };
    },
  };
}
