/** Settings of the group "run": length, loops, intervals. */

import type { LoopAbout } from "../../rl/loops/about.ts";
import { HELD_OUT_LOOPS, LOOPS, type LoopId } from "../../rl/loops/abouts.ts";
import { MODES } from "../modes.ts";
import { choice, flag, float, inGroup, int, oneOf, type Setting, text } from "../setting.ts";

const loopWeights = LOOPS.map(({ id, optional, task }: LoopAbout) => [
  `loop${id}Weight`,
  float(`Loop ${id} weight`, optional === true ? 0 : 1, [0, 10, 0.1], {
    help: `Weight of loop ${id}'s loss in the sum${optional === true ? `. Above 0, ${task} trains together with both loops` : ""}`,
  }),
]);
const LOOP_WEIGHTS: Readonly<Record<`loop${LoopId}Weight`, ReturnType<typeof float>>> = Object.fromEntries(loopWeights);

export const RUN_SETTINGS = inGroup("run", {
  seed: int("Seed", 1, [0, 4294967295], {
    trl: true,
    free: true,
    help: "Determines data order, sampling and adapter initialisation. On the same GPU, the same seed repeats a run exactly",
    main: true,
  }),
  mode: oneOf("Mode", "rl", {
    choices: [choice("rl", "Dual-loop GRPO"), ...MODES.map(({ name, label }) => choice(name, label))],
    help: "GRPO samples rollouts and rewards them. Supervised mode trains the same tensors on the captions and masks of the rows",
  }),
  steps: int("Steps", 30, [1, 100000], {
    trl: "max_steps",
    free: true,
    help: "Number of steps. A step samples rollouts, then updates the weights once; with several passes or windows more often",
    main: true,
  }),
  loops: oneOf("Loops", "both", {
    choices: [
      choice("both", "Both loops"),
      ...LOOPS.map(({ id, task, ...about }) => ({
        ...choice(`${id}`, `Loop ${id}: ${task}`),
        ...("promptOfRow" in about && { needs: "questions" as const }),
      })),
    ],
    help: "Loops that are sampled in every step. Their losses are summed by their weights; a loop of weight 0 is shown and does not train. In supervised mode, loop 1 trains captions and loop 2 trains masks",
    main: true,
  }),
  ...LOOP_WEIGHTS,
  saveSteps: int("Checkpoint every", 10, [0, 100000], {
    unit: "steps",
    trl: true,
    free: true,
    help: "Saves weights, optimiser, EMA and trainer state to the run folder; 0 saves only at the end",
    main: true,
  }),
  saveTotalLimit: int("Keep checkpoints", 2, [1, 100], {
    trl: true,
    free: true,
    help: "Number of recent checkpoints to keep. If held-out rows are evaluated, the best checkpoint is always kept",
  }),
  evalSteps: int("Evaluate every", 0, [0, 100000], {
    unit: "steps",
    trl: true,
    free: true,
    help: "Evaluates the held-out rows at the start, every N steps and at the end, with fixed seeds; 0 is off",
    main: true,
  }),
  bestMetric: oneOf("Best checkpoint by", "reward", {
    choices: [
      choice("reward", "Run reward, sampled"),
      choice("reward_greedy", "Run reward, greedy"),
      ...HELD_OUT_LOOPS.flatMap(({ id, score }) => [
        choice(`loop${id}_sampled`, `Loop ${id} ${score}, sampled`),
        choice(`loop${id}_greedy`, `Loop ${id} ${score}, greedy`),
      ]),
      choice("grounding_iou", "Grounding IoU"),
      choice("caption_meteor", "Caption METEOR"),
    ],
    free: true,
    help: "Score whose mean over the selection rows chooses the best checkpoint. The run reward is the reward that the run trains on, averaged over its loops; the other scores ignore the judge and custom rewards",
  }),
  evalRows: int("Evaluation rows", 32, [2, 10000], {
    unit: "rows",
    free: true,
    help: "Held-out rows that an evaluation scores. “Selection share” says how many of them choose the best checkpoint; reported scores are of the others. More rows give narrower intervals",
  }),
  evalJudge: flag("Judge held-out rows", true, {
    free: true,
    help: "Uses the judge in evaluations if the reward has a judge term; its requests count against the budget of training. If off, held-out rewards are labelled “without judge”",
  }),
});

/** Settings of the group "data": selection and number of rows. */
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
    trl: true,
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
    free: true,
    help: "Seed that selects the held-out pictures, and the selection pictures among them. It is separate from the training seed, so runs with different training seeds are scored on the same rows",
  }),
  selectionShare: float("Selection share", 0.25, [0, 0.5, 0.05], {
    free: true,
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

/** Settings of the group "data": mix of several sources, and order of the rows. */
export const MIX_SETTINGS = {
  mixSources: {
    group: "data",
    kind: "text",
    label: "Mix sources",
    default: "",
    maxLength: 4000,
    help: "Comma-separated sources, each with a number, as in refcoco=4, osprey=0.5. A row belongs to the source with the longest name that begins its file path, or a folder or file name in it; * stands for all other files, whose number is 1 by default. 0 leaves a source out. Empty: no mix",
  },
  mixBy: {
    group: "data",
    kind: "choice",
    label: "Meaning of the mix numbers",
    default: "repeats",
    choices: [choice("repeats", "Repeats per epoch"), choice("weights", "Weight per draw")],
    help: "repeats: how often each row of a source occurs in an epoch, fractions allowed. weights: relative share of the prompts for a source, whatever its size; rows are then drawn with replacement",
  },
  lengthGrouping: {
    group: "data",
    kind: "flag",
    label: "Length grouping",
    default: false,
    help: "Puts rows with captions of similar length into the same step, longest first within 50 steps, so that less padding is computed. Only epochs are grouped, not draws with replacement",
  },
  curriculum: {
    group: "data",
    kind: "choice",
    label: "Curriculum",
    default: "off",
    choices: [choice("off", "Off"), choice("easy", "Easy rows first"), choice("hard", "Hard rows first")],
    help: "Starts with the rows of highest (easy) or lowest (hard) mean reward, as measured on the reward bench, then adds more and more. Unmeasured rows count as average",
  },
  curriculumStart: {
    group: "data",
    kind: "float",
    label: "Curriculum start",
    default: 0.25,
    min: 0.01,
    max: 1,
    step: 0.05,
    help: "Share of the rows that the curriculum uses in the first step",
  },
  curriculumSteps: {
    group: "data",
    kind: "int",
    label: "Curriculum length",
    unit: "steps",
    default: 100,
    min: 1,
    max: 1000000,
    step: 10,
    help: "Steps until the curriculum uses all rows; the share grows linearly",
  },
  zeroSpreadRows: {
    group: "data",
    kind: "choice",
    label: "Rows without reward spread",
    default: "keep",
    choices: [choice("keep", "Use"), choice("skip", "Leave out")],
    help: "skip leaves out rows whose groups had equal rewards on the reward bench; they give no gradient until the policy changes",
  },
  resampleRounds: {
    group: "data",
    kind: "int",
    label: "Dynamic sampling",
    unit: "rounds",
    default: 0,
    min: 0,
    max: 8,
    step: 1,
    help: "Rounds in which groups with equal rewards are replaced by groups of other rows, as in DAPO; 0 keeps them. Each round samples as many groups as had no spread",
  },
} as const satisfies Record<string, Setting>;

/** Settings of the group "model": adapters and cost of a picture. */
export const MODEL_SETTINGS = inGroup("model", {
  loraR: int("LoRA rank r", 128, [1, 512], {
    healthy: [64, 128],
    trl: true,
    help: "Rank of the adapters on all linear layers of the language model",
    main: true,
  }),
  loraAlpha: float("LoRA alpha", 256, [0.01, 4096], {
    healthy: [128, 256],
    trl: true,
    help: "Scales the adapter output by alpha / r",
  }),
  loraDropout: float("LoRA dropout", 0, [0, 0.9, 0.01], {
    trl: true,
    help: "Share of an adapter's inputs that is dropped in training passes only, so above 0 the trained policy differs from the sampling policy. Use 0 for reinforcement learning",
  }),
  maxTiles: int("Maximum tiles", 12, [1, 12], {
    help: "Maximum number of image tiles for the vision tower. For photographs this setting has the largest effect on cost",
  }),
  regionPrompt: oneOf("Region prompt", "auto", {
    choices: [
      choice("auto", "As the model was trained"),
      choice("tokens", "Copied visual tokens"),
      choice("outline", "Red outline in the picture"),
      choice("dim", "Dimmed surroundings"),
    ],
    help: "How the language model is shown the region to describe. Sa2VA on InternVL knows copied tokens. Sa2VA on Qwen-VL was never trained on them; it reads a mark drawn into the picture, which costs a pass of the vision tower per region. SAM2 always sees the plain picture",
  }),
  trainProjector: oneOf("Train the projector", "auto", {
    choices: [choice("auto", "As in the published training"), choice("yes", "Yes"), choice("no", "No")],
    help: "Whether the layers between vision tower and language model train. The published training of Sa2VA on InternVL trains them; on Qwen-VL they are frozen and stored like other frozen weights, so training them starts from their stored precision",
  }),
  resizeTwice: flag("Resize pictures twice", false, {
    help: "Resizes a picture to multiples of 28 pixels before the model's own resize, as the published inference on Qwen-VL does; its training resizes once. It has no effect on models that cut pictures into tiles",
  }),
  gpuMemory: float("GPU memory", 0, [0, 1024], {
    unit: "GB",
    free: true,
    help: "Memory of your GPU, which a browser cannot read. A run that does not fit is refused. 0 means unknown",
    main: true,
  }),
  outOfMemory: oneOf("Out of GPU memory", "pause", {
    choices: [choice("pause", "Pause before the step"), choice("smaller", "Repeat the step with a smaller setting")],
    free: true,
    help: "What a run does when the GPU refuses memory in a step. The step is undone, then repeated with one group at once, recomputation or one rollout per backward pass; results stay equal up to rounding. After a pause, continuing does the same",
  }),
  gradientCheckpointing: flag("Recompute activations", false, {
    trl: true,
    help: "Stores only the inputs of each language-model block and recomputes the block in the backward pass. This saves memory and takes about a third more time",
  }),
  weightStorage: oneOf("Weight storage", "f32", {
    choices: [
      choice("f32", "f32, 4 bytes per weight"),
      choice("f16", "f16, 2 bytes: at least the precision of a bfloat16 checkpoint"),
      choice("q8", "q8, 1.06 bytes"),
      choice("q4", "q4, 0.56 bytes"),
    ],
    help: "Format of the frozen matrices on the GPU; takes effect when the model is next loaded. Adapters, all trained tensors and all sums stay f32",
  }),
  towerStorage: oneOf("Tower storage", "same", {
    choices: [
      choice("same", "Same as the weights"),
      choice("f32", "f32"),
      choice("f16", "f16"),
      choice("q8", "q8"),
      choice("q4", "q4"),
    ],
    help: "Format of the vision tower and SAM2's image encoder, which run once per picture",
  }),
  halfProducts: flag("Half-precision products", false, {
    trl: "fp16",
    help: "Multiplies frozen f16, q8 and q4 layers in half precision and sums in f32. Needs a GPU with shader-f16; otherwise it has no effect. Decoding, the head and all trained tensors stay f32",
  }),
  hub: text("Model hub", "https://huggingface.co", 300, {
    free: true,
    help: "Base address for repository names such as owner/name. It is contacted only when you open such a name",
    ownControl: true,
  }),
  featureDisk: float("Feature cache", 2, [0, 1000], {
    unit: "GB",
    help: "Disk space for the outputs of the frozen towers, which the next epoch and the next run reuse; 0 turns the cache off",
  }),
  featureStorage: oneOf("Feature storage", "f32", {
    choices: [choice("f32", "f32"), choice("f16", "f16, half the memory")],
    help: "Format of the outputs of the frozen towers in host memory and on disk. With f16 they are rounded before they are used; the metric features/rounding is the relative error",
  }),
  smallRegions: oneOf("Tiny regions", "force", {
    choices: [choice("force", "Use the best-covered cell"), choice("skip", "Skip the row")],
    help: "What to do when a mask covers no cell of the visual-token grid",
  }),
});
