/** Settings of the group "data": selection and number of rows. */
import { float, inGroup, int, text } from "../setting.ts";

export const DATA_SETTINGS = inGroup("data", {
  promptsPerStep: int("Prompts per loop", 1, [1, 64], {
    trl: "per_device_train_batch_size",
    help: "Rows that each loop draws per micro-step. Each row becomes one group of rollouts",
    main: true,
  }),
  accumulation: int("Gradient accumulation", 1, [1, 4096], {
    unit: "micro-steps",
    trl: "gradient_accumulation_steps",
    help: "Micro-steps per optimiser step. Their gradients are summed",
    main: true,
  }),
  stepsPerGeneration: int("Micro-steps per generation", 0, [0, 262144], {
    unit: "micro-steps",
    trl: "steps_per_generation",
    help: "Micro-steps that are sampled together. If larger than the accumulation, several updates use one set of rollouts, and all but the first are off-policy; 0 samples new rollouts for every update",
  }),
  microRollouts: int("Rollouts per backward pass", 0, [0, 64], {
    help: "Captions per backward pass; 0 takes the whole group. A smaller number saves memory, needs one more forward pass, and gives the same gradient",
  }),
  groupsAtOnce: int("Groups at once", 1, [0, 64], {
    help: "Groups that are processed in one batch; 0 takes all groups of a step. A larger number is faster on small models and needs more memory. Results are equal up to rounding",
  }),
  clipFrames: int("Frames per clip", 5, [2, 64], {
    unit: "frames",
    help: "Frames of a clip that a step uses: sampled for each row and step in training, evenly spread in evaluations. The published training uses 5. No effect on pictures",
  }),
  heldOutShare: float("Held-out share", 0.1, [0, 0.5, 0.01], {
    help: "Share of the pictures that are kept out of training. The split is by picture, so no picture is on both sides",
    main: true,
  }),
  splitSeed: int("Split seed", 1, [0, 4294967295], {
    help: "Seed that selects the held-out pictures, and the selection pictures among them. It is separate from the training seed, so runs with different training seeds are scored on the same rows",
  }),
  selectionShare: float("Selection share", 0.25, [0, 0.5, 0.05], {
    help: "Share of the held-out pictures that choose the best checkpoint; reported numbers exclude them. 0: no best checkpoint",
  }),
  rowFilter: text("Row filter", "", 400, {
    help: 'Uses only rows that meet every condition, for example category:chair area:0.01..0.2 words:2..8 red cup. area is the share of the picture that the mask covers, words the number of words in the caption, shard the path of a file; any other word must occur in the caption. Quote values with spaces: category:"dining table". Applied before the held-out split. Empty uses all rows',
    linked: true,
  }),
  maxRows: int("Rows used", 0, [0, 10000000], {
    help: "Uses only the first rows of the shards that pass the row filter; 0 uses all rows",
  }),
});
