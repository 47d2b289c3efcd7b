import type { LoopAbout } from "../../engine/rl/loops/about.ts";

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
