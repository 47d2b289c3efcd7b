/** Settings of the group "supervised": losses of the supervised mode. */
import { float, inGroup, int } from "../setting.ts";

export const SUPERVISED_SETTINGS = inGroup("supervised", {
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
