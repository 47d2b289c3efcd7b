import { DOWN, row } from "./metric.ts";

/** Losses of supervised runs. */
export const SUPERVISED_ROWS = [
  row(
    "sft/loss",
    "Supervised loss, mean over the step's rows",
    "token + w_bce · BCE + w_dice · Dice",
    "",
    "Falls, fast at first. A rise over tens of steps means that the learning rate is too high",
    4,
    DOWN,
  ),
  row(
    "sft/token_loss",
    "Cross-entropy of caption and stop token, mean over a row's tokens, then over rows",
    "− mean log π(token)",
    "nats",
    "Falls towards the entropy of the captions",
    4,
    DOWN,
  ),
  row(
    "sft/mask_bce",
    "Binary cross-entropy of the selected mask",
    "mean over pixels or points",
    "nats",
    "Falls",
    4,
    DOWN,
  ),
  row("sft/mask_dice", "Dice loss of the selected mask", "1 − (2 Σpt + 1) / (Σp + Σt + 1)", "0–1", "Falls", 4, DOWN),
  row(
    "sft/source_loss/<source>",
    "Supervised loss over the step's rows from one source of the mix",
    "mean over its rows",
    "",
    "Falls in every source",
    4,
    DOWN,
  ),
];
