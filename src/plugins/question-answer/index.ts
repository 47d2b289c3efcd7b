import type { Plugin } from "../plugin.ts";
import { QUESTION_ANSWER } from "./about.ts";

export const plugin = { name: "question-answer", loops: [QUESTION_ANSWER] } as const satisfies Plugin;
