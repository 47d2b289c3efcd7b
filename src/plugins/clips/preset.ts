/** The preset for the demo clips. */
import type { Plugin } from "../plugin.ts";

export const plugin = {
  name: "clips",
  presets: [
    {
      name: "clips",
      title: "Demo clips",
      more: true,
      pocketModel: "clip-model",
      demoSet: { name: "demo clips", rows: "pocket/clips/" },
      summary: "Both loops on the pocket model for clips. Loop 1 trains on J&F of the masklet and half of METEOR",
      values: {
        // IoU alone does not penalise wrong object names; half the METEOR keeps the vocabulary of the references.
        loop1Iou: 0,
        loop1J: 0.5,
        loop1F: 0.5,
        loop1Meteor: 0.5,
        loop1RepetitionCost: 0.3,
        numGenerations: 6,
        // A caption says where its object is and where it moves.
        maxCompletionLength: 16,
        partnerMaxTokens: 16,
        // There are few demo clips, so a third of them is held out and all of these are reported.
        heldOutShare: 0.33,
        selectionShare: 0,
      },
    },
  ],
} as const satisfies Plugin;
