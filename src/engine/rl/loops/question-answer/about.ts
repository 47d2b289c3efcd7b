import type { LoopAbout } from "../about.ts";

export const QUESTION_ANSWER = {
  id: 3,
  arrow: "question → answer",
  task: "question → answer",
  samples: "text",
  text: "caption",
  textName: "answer",
  optional: true,
  terms: { meteor: 1 },
} as const satisfies LoopAbout;
