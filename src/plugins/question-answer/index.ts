import type { LoopAbout } from "../../engine/rl/loops/about.ts";
import type { Plugin } from "../plugin.ts";

export const QUESTION_ANSWER = {
  id: 3,
  arrow: "question → answer",
  task: "question → answer",
  samples: "text",
  mask: null,
  text: "caption",
  textName: "answer",
  promptOfRow: true,
  optional: true,
  terms: { meteor: 1 },
} as const satisfies LoopAbout;

export const plugin = { name: "question-answer", loops: [QUESTION_ANSWER] } as const satisfies Plugin;
