/** Settings of the group "model": adapters and cost of a picture. */
import { choice, flag, float, inGroup, int, oneOf, text } from "../setting.ts";

export const MODEL_SETTINGS = inGroup("model", {
  loraRank: int("LoRA rank r", 128, [1, 512], {
    trl: "lora_r",
    help: "Rank of the adapters on all linear layers of the language model",
    main: true,
  }),
  loraAlpha: float("LoRA alpha", 256, [0.01, 4096], {
    trl: "lora_alpha",
    help: "Scales the adapter output by alpha / r",
  }),
  loraDropout: float("LoRA dropout", 0, [0, 0.9, 0.01], {
    trl: "lora_dropout",
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
    help: "Whether the layers between vision tower and language model train. The published training of Sa2VA on InternVL trains them; on Qwen-VL they are frozen",
  }),
  resizeTwice: flag("Resize pictures twice", false, {
    help: "Resizes a picture to multiples of 28 pixels before the model's own resize, as the published inference on Qwen-VL does; its training resizes once. It has no effect on models that cut pictures into tiles",
  }),
  gpuMemory: float("GPU memory", 0, [0, 1024], {
    unit: "GB",
    help: "Memory of your GPU, which a browser cannot read. A run that does not fit is refused. 0 means unknown",
    main: true,
  }),
  outOfMemory: oneOf("Out of GPU memory", "pause", {
    choices: [choice("pause", "Pause before the step"), choice("smaller", "Repeat the step with a smaller setting")],
    help: "What a run does when the GPU refuses memory in a step. The step is undone, then repeated with one group at once, recomputation or one rollout per backward pass; results stay equal up to rounding. After a pause, continuing does the same",
  }),
  recompute: flag("Recompute activations", false, {
    trl: "gradient_checkpointing",
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
