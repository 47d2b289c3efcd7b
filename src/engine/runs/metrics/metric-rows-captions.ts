import { DOWN, row, SHARE } from "./metric.ts";

/** Changes to the data's captions in prompts: in loop 2 and in supervised steps. */
export const CAPTION_ROWS = [
  row(
    "loopK/captions/cut",
    "Share of the rows' captions that were cut to fit the model's context (loop 2, where captions are prompts)",
    "",
    SHARE,
    "0",
    3,
    DOWN,
  ),
  row(
    "loopK/captions/spell_tokens",
    "Share of the rows' captions that contain special tokens such as [SEG]; they are encoded as text (loop 2)",
    "",
    SHARE,
    "0 in clean data",
    3,
    DOWN,
  ),
  row(
    "sft/captions/cut",
    "Share of the step's captions that were cut to fit the model's context",
    "",
    SHARE,
    "0",
    3,
    DOWN,
  ),
  row(
    "sft/captions/spell_tokens",
    "Share of the step's captions that contain special tokens such as [SEG]; they are encoded as text",
    "",
    SHARE,
    "0 in clean data",
    3,
    DOWN,
  ),
];
