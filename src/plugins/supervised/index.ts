/** The supervised mode: its settings, metrics, charts and preset. */
import { float, inGroup, int } from "../../engine/config/setting.ts";
import { DOWN, row } from "../../engine/runs/metrics/metric-rows.ts";
import type { Plugin } from "../plugin.ts";

const settings = inGroup("supervised", {
  sftBceWeight: float("Mask cross-entropy weight", 2, [0, 100, 0.5], {
    help: "Weight of the mask's binary cross-entropy. The caption's cross-entropy has weight 1",
    main: true,
  }),
  sftDiceWeight: float("Dice weight", 0.5, [0, 100, 0.1], {
    help: "Weight of the mask's Dice loss",
    main: true,
  }),
  sftPoints: int("Points per mask", 12544, [16, 65536, 16], {
    unit: "points",
    help: "Number of points at which larger masks are compared. Most points are where the prediction is least certain",
  }),
});

const metrics = [
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

export const plugin = {
  name: "supervised",
  modes: [
    {
      name: "sft",
      label: "Supervised",
      charts: [
        { id: "sft-loss", title: "Supervised loss", series: [{ metric: "sft/loss", label: "sum" }] },
        { id: "sft-token", title: "Caption loss", series: [{ metric: "sft/token_loss", label: "nats per token" }] },
        {
          id: "sft-mask",
          title: "Mask losses",
          series: [
            { metric: "sft/mask_bce", label: "BCE" },
            { metric: "sft/mask_dice", label: "Dice" },
          ],
        },
      ],
      preset: {
        title: "Supervised",
        summary: "Trains the same tensors on the captions and masks of the rows, without rollouts",
        values: { learningRate: 5e-4, promptsPerStep: 8 },
      },
    },
  ],
  settings,
  metrics,
} as const satisfies Plugin;
