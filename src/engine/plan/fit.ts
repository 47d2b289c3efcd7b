/** Whether a run fits a graphics card, how much memory each part takes, and which single change would make it fit. */
import { groupsPerStep, needsReference, samples } from "../config/derived.ts";
import { aboutMaskPolicy } from "../config/groups/mask.ts";
import type { LabConfig } from "../config/table.ts";
import type { Throughput } from "../gpu/runtime/throughput.ts";
import { trainableBlocks } from "../model/adapter/trainable.ts";
import { regionPromptOf, type Sa2vaConfig } from "../model/config.ts";
import { visionFamily } from "../model/families/registry.ts";
import { languageLinears } from "../model/language/language-families.ts";
import type { StorageChoice } from "../model/weights/storage-choice.ts";
import { bytesText } from "./bytes-text.ts";
import { type GroupShape, type TransientForecast, transientForecast } from "./transient.ts";
import { type TrainableForecast, trainableForecast, type WeightForecast, weightForecast } from "./weights.ts";
import { stepSeconds, stepWork } from "./work.ts";

const F32 = 4;
const GB = 1e9;
/** Tokens of the template and the question, without picture and region. */
const PROMPT_WORDS = 64;
/** Text tokens around a frame and its region. */
const FRAME_WORDS = 24;
/** Reserve for drivers and page rendering. */
const RESERVE = 0.08;

/** What is known of the rows, and of the words around them in the model's own tokens. */
export interface RowShape {
  /** Whether rows are clips. */
  readonly clips?: boolean | undefined;
  /** Tokens of the template and the question, without picture and region. */
  readonly words?: number | undefined;
  /** Tokens of a question for a mask with the longest phrase and its answer up to [SEG], without the picture. */
  readonly phraseTokens?: number | undefined;
  /** Tokens of the longest caption; as many as a completion may have where captions are unknown. */
  readonly captionTokens?: number | undefined;
}

export interface Forecast {
  readonly weights: WeightForecast;
  readonly trainable: TrainableForecast;
  readonly transient: TransientForecast;
  readonly group: GroupShape;
  /** Bytes by part, in display order. */
  readonly parts: readonly { readonly part: ForecastPart; readonly bytes: number }[];
  /** Bytes that stay on the device between steps. */
  readonly held: number;
  readonly peak: number;
  /** Seconds per step; null if the device's rate was not measured. */
  readonly stepSeconds: number | null;
}

type ForecastPart =
  | "frozen weights"
  | "published tensors"
  | "trained tensors"
  | "moments"
  | "EMA partner"
  | "start of the run"
  | "synchronised reference"
  | "gradients"
  | "features"
  | "keys and values"
  | "passes without gradient"
  | "activations";

/** @param rate measured rate of the device; null if unknown @param blocks whether attention works without score arrays */
export function forecast(
  model: Sa2vaConfig,
  config: LabConfig,
  choice: StorageChoice,
  rate: Throughput | null = null,
  blocks = false,
  rows: RowShape = {},
): Forecast {
  const weights = weightForecast(model, choice);
  const trainable = trainableForecast(model, config.loraR, trainableBlocks(model, config.trainProjector));
  const trained = F32 * trainable.parameters;
  const group = groupShape(model, config, rows);
  const reinforced = config.mode === "rl";
  const [captions, masks] = [samples(config, "text"), samples(config, "mask")];
  const transient = transientForecast(model, group, {
    rank: config.loraR,
    blocks,
    recompute: config.gradientCheckpointing,
    microRollouts: config.microRollouts,
    groupsAtOnce: config.groupsAtOnce,
    captions,
    masks,
    supervised: !reinforced,
  });
  const work = stepWork(model, group, {
    loops: captions && masks ? 2 : 1,
    captions,
    masks,
    recompute: config.gradientCheckpointing,
    microBatches: config.microRollouts > 0 && config.microRollouts < config.numGenerations,
    reference: needsReference(config),
    passes: config.numIterations,
    newPictures: 1,
  });
  // The published tensors are the start of everything except the adapter, which has no published form, and a projector
  // that is frozen by default, whose published form is packed.
  const synchronised = config.syncRefModel && config.reference === "start" && needsReference(config);
  // Each loop has its gradient sum and a pass its gradients; a pass over part of a group also holds the group's sum
  // twice.
  const apart = reinforced && config.microRollouts > 0 && config.microRollouts < config.numGenerations;
  const gradients = ((captions && masks && reinforced ? 2 : 1) + 1 + (apart ? 2 : 0)) * trained;
  const unpacked = visionFamily(model).trainsProjector ? 0 : trainable.blocks.projector;
  const startCopy = F32 * (trainable.blocks.lora + unpacked);
  const heldParts: [ForecastPart, number][] = [
    ["frozen weights", weights.frozenBytes],
    ["published tensors", weights.publishedBytes],
    ["trained tensors", trained],
    ["moments", 2 * trained],
    ["EMA partner", trained],
    ["start of the run", startCopy],
    ...(synchronised ? [["synchronised reference", trained] as [ForecastPart, number]] : []),
  ];
  const held = heldParts.reduce((sum, [, bytes]) => sum + bytes, 0);
  const passing: [ForecastPart, number][] = [
    ["gradients", gradients],
    ["features", transient.features],
    ["keys and values", transient.cache],
    ["passes without gradient", Math.max(transient.towers, transient.answering - transient.cache)],
    ["activations", transient.activations],
  ];
  return {
    weights,
    trainable,
    transient,
    group,
    parts: [...heldParts, ...passing].map(([part, bytes]) => ({ part, bytes })),
    held,
    peak: held + Math.max(transient.sampling, gradients + transient.learning),
    stepSeconds: rate === null ? null : stepSeconds(work, rate),
  };
}

/** The largest group the settings allow: all tiles or frames, and a region that covers a quarter of the grid. */
export function groupShape(model: Sa2vaConfig, config: LabConfig, rows: RowShape = {}): GroupShape {
  const {
    clips = false,
    words = PROMPT_WORDS,
    captionTokens = config.maxCompletionLength,
    phraseTokens = words,
  } = rows;
  const most = Math.min(config.maxTiles, model.maxTiles);
  const frames = clips ? config.clipFrames : 1;
  const tiles = clips ? frames : most > 1 && model.useThumbnail ? most + 1 : most;
  const draws = regionPromptOf(model, config.regionPrompt) !== "tokens";
  const described = aboutMaskPolicy(config).described ?? config.numGenerations;
  // Every frame repeats the region and the sentence around it; a drawn region has no tokens.
  const region = draws ? 0 : frames * Math.ceil(model.tokensPerTile / 4) + (frames - 1) * FRAME_WORDS;
  return {
    tiles,
    frames,
    captionTokens,
    phraseTokens,
    promptTokens: tiles * model.tokensPerTile + region + words,
    rollouts: config.numGenerations,
    newTokens: config.maxCompletionLength,
    groups: groupsPerStep(config),
    described,
    drawn: draws ? described : 0,
    // The prompts of a picture's masks share everything before the first region; in a clip, that is one frame. Pictures
    // with different drawings share nothing.
    tailTokens: (draws ? tiles : frames - 1) * model.tokensPerTile + region + words,
    answerTokens: config.partnerMaxTokens,
    tried: triedPrompts(config),
    softTokens: aboutMaskPolicy(config).softMask ? (tiles + 1) * model.tokensPerTile + words + captionTokens : 0,
  };
}

/** Prompts of one picture that the mask policy decodes at a time: noisy [SEG] states, or clicks. */
function triedPrompts(config: LabConfig): number {
  const { maskPolicy, numGenerations, proposalPoints } = config;
  if (aboutMaskPolicy(config).decodesEach) return numGenerations;
  return maskPolicy === "proposals" ? Math.max(2 * numGenerations, proposalPoints ** 2) : 0;
}

/** Bytes available to a run on a GPU. @param gigabytes nominal memory; 0 if unknown */
export function budgetBytes(gigabytes: number): number {
  return gigabytes <= 0 ? Number.POSITIVE_INFINITY : gigabytes * GB * (1 - RESERVE);
}

/** Nominal gigabytes, to one decimal, of a GPU with this many bytes available to a run. */
export function nominalGigabytes(bytes: number): number {
  return Math.floor((10 * bytes) / GB / (1 - RESERVE)) / 10;
}

/** One change of the settings, and the resulting peak. */
export interface FitChange {
  /** What to do, e.g. "Recompute activations". */
  readonly label: string;
  readonly values: Partial<LabConfig>;
  readonly choice: StorageChoice;
  readonly peak: number;
}

const STORAGES = ["f16", "q8", "q4"] as const;

/**
 * Single changes that bring the peak below the budget, mildest first; empty if the run fits already or no single change
 * is enough.
 */
export function fittingChanges(
  model: Sa2vaConfig,
  config: LabConfig,
  choice: StorageChoice,
  budget: number,
  blocks = false,
  rows: RowShape = {},
): readonly FitChange[] {
  if (forecast(model, config, choice, null, blocks, rows).peak <= budget) return [];
  return settingChanges(config, choice).flatMap(({ label, values, choice: storage }) => {
    const { peak } = forecast(model, { ...config, ...values }, storage, null, blocks, rows);
    return peak <= budget ? [{ label, values, choice: storage, peak }] : [];
  });
}

/** Single changes that make a run smaller, mildest first. */
export function settingChanges(config: LabConfig, choice: StorageChoice): Omit<FitChange, "peak">[] {
  const change = (label: string, values: Partial<LabConfig>, storage = choice): Omit<FitChange, "peak"> => ({
    label,
    values,
    choice: storage,
  });
  const list: Omit<FitChange, "peak">[] = [];
  if (config.groupsAtOnce !== 1) list.push(change("One group at once", { groupsAtOnce: 1 }));
  if (!config.gradientCheckpointing) list.push(change("Recompute activations", { gradientCheckpointing: true }));
  const packed = ["f32", ...STORAGES].indexOf(choice.language);
  for (const form of STORAGES.slice(Math.max(0, packed))) {
    const label = `Hold frozen weights as ${form}`;
    const storage = { language: form, towers: choice.towers === "f32" ? "f16" : choice.towers };
    list.push(
      change(label, { weightStorage: form, towerStorage: form === storage.towers ? "same" : storage.towers }, storage),
    );
  }
  if (config.microRollouts !== 1) list.push(change("One rollout per backward pass", { microRollouts: 1 }));
  for (let rank = config.loraR >> 1; rank >= 4; rank >>= 1) {
    list.push(change(`LoRA rank ${rank}`, { loraR: rank, loraAlpha: (config.loraAlpha * rank) / config.loraR }));
  }
  for (const tiles of [6, 3, 1]) {
    if (tiles < config.maxTiles)
      list.push(change(`At most ${tiles} ${tiles === 1 ? "tile" : "tiles"}`, { maxTiles: tiles }));
  }
  if (config.numGenerations > 4) list.push(change("Groups of 4", { numGenerations: 4 }));
  if (config.promptsPerStep > 1) list.push(change("One prompt per loop", { promptsPerStep: 1 }));
  if (config.loops === "both") list.push(change("Loop 1 only", { loops: "1" }));
  return list;
}

/** Share of a budget that sizes chosen without asking may fill: forecasts are not exact. */
const FILL = 0.9;

/** A step of one prompt per loop: all groups of a step are decoded together, so their keys and values are held at once. */
const ONE_PROMPT: Partial<LabConfig> = { promptsPerStep: 1, accumulation: 1 };
/** Sizes of a run on a real checkpoint, largest first. */
const SIZES: readonly Partial<LabConfig>[] = [
  { numGenerations: 16, loraR: 128, maxTiles: 12 },
  { numGenerations: 8, loraR: 128, maxTiles: 12 },
  { numGenerations: 8, loraR: 64, maxTiles: 12 },
  { numGenerations: 8, loraR: 32, maxTiles: 12 },
  { numGenerations: 8, loraR: 16, maxTiles: 12 },
  { numGenerations: 4, loraR: 16, maxTiles: 6 },
  { numGenerations: 4, loraR: 16, maxTiles: 6, ...ONE_PROMPT },
];
/** The size of last resort, once no storage fits the others. */
const SMALLEST: Partial<LabConfig> = { numGenerations: 4, loraR: 8, maxTiles: 1, microRollouts: 1, ...ONE_PROMPT };
/** Frames of a clip in the size of last resort. */
const FEWEST_FRAMES = 2;

/**
 * The largest sizes of a run, and the storage with the least rounding, that fit a budget together: where no single
 * change is enough, and when a large checkpoint is opened.
 * @param choice storage to prefer, e.g. that of the loaded model; f32 is taken for f16
 * @returns null if nothing fits
 */
export function fittingSettings(
  model: Sa2vaConfig,
  config: LabConfig,
  choice: StorageChoice,
  budget: number,
  blocks = false,
  rows: RowShape = {},
): FitChange | null {
  const packed = STORAGES.slice(Math.max(0, STORAGES.indexOf(choice.language as (typeof STORAGES)[number])));
  const storages = packed.map((language): StorageChoice => ({ language, towers: "f16" }));
  const tried = [
    ...storages.flatMap((storage) => SIZES.map((size) => ({ size, storage }))),
    { size: SMALLEST, storage: storages.at(-1) as StorageChoice },
    ...(rows.clips === true
      ? [{ size: { ...SMALLEST, clipFrames: FEWEST_FRAMES }, storage: storages.at(-1) as StorageChoice }]
      : []),
  ];
  for (const { size, storage } of tried) {
    const { loraR = config.loraR, numGenerations, maxTiles = 1, accumulation, clipFrames } = size;
    const values: Partial<LabConfig> = {
      ...{ gradientCheckpointing: true, groupsAtOnce: 1, featureStorage: "f16" },
      ...{ weightStorage: storage.language, towerStorage: storage.language === "f16" ? "same" : storage.towers },
      ...size,
      loraAlpha: 2 * loraR,
    };
    const { peak } = forecast(model, { ...config, ...values }, storage, null, blocks, rows);
    if (peak > FILL * budget) continue;
    const tiles = maxTiles >= model.maxTiles ? "all tiles" : `at most ${maxTiles} ${maxTiles === 1 ? "tile" : "tiles"}`;
    const fewer = [
      ...(accumulation === undefined ? [] : ["one prompt per loop"]),
      ...(clipFrames === undefined ? [] : [`${clipFrames} frames of a clip`]),
    ];
    return {
      label: [`Groups of ${numGenerations}`, ...fewer, `rank ${loraR}`, tiles, `weights in ${storage.language}`].join(
        ", ",
      ),
      values,
      choice: storage,
      peak,
    };
  }
  return null;
}

// The largest array of a step, which a kernel binds as a whole: an adapter may limit bindings to 128 MiB.

/** A kind of array in a step. */
interface StepArray {
  readonly what: string;
  readonly bytes: number;
}

/** The kinds of array that grow with the settings, largest first. */
export function stepArrays(model: Sa2vaConfig, config: LabConfig, rows: RowShape = {}): readonly StepArray[] {
  const shape = groupShape(model, config, rows);
  const [captions, masks] = [samples(config, "text"), samples(config, "mask")];
  const together = Math.min(config.groupsAtOnce || shape.groups, shape.groups);
  const { language, sam2 } = model;
  // The widest output of a layer: the hidden units of the MLP, which some families compute together with their gate.
  const widest = Math.max(...languageLinears(language).map(({ outSize }) => outSize));
  const described = masks ? shape.described * shape.tailTokens : 0;
  const sampled = captions ? shape.rollouts * shape.newTokens : 0;
  const tokens = together * Math.max(shape.promptTokens, described, sampled);
  const cells = (sam2.imageSize / 4) ** 2;
  const prompts = Math.max(captions ? together * shape.rollouts : together, masks ? shape.tried : 0);
  const reach = shape.promptTokens + shape.newTokens;
  return [
    { what: `The MLP's hidden units of ${tokens} tokens`, bytes: F32 * tokens * widest },
    {
      what: "SAM2's finest maps of the pictures decoded together",
      bytes: F32 * together * shape.frames * cells * sam2.hiddenDim,
    },
    {
      what: `The mask decoder's finest maps of ${prompts} prompts`,
      bytes: F32 * prompts * shape.frames * cells * (sam2.hiddenDim / 8),
    },
    { what: `Masks of ${shape.rollouts} prompts`, bytes: F32 * shape.rollouts * sam2.imageSize ** 2 },
    {
      what: "One layer's keys of a group's rollouts",
      bytes: F32 * shape.rollouts * reach * language.kvHeads * language.headSize,
    },
  ].sort((a, b) => b.bytes - a.bytes);
}

/**
 * A sentence about the largest array, with the mildest single change that makes all fit, if an adapter cannot bind it;
 * null otherwise.
 * @param binding maximum bytes of a binding
 */
export function bindingProblem(
  model: Sa2vaConfig,
  config: LabConfig,
  choice: StorageChoice,
  binding: number,
  rows: RowShape = {},
): string | null {
  const largest = (settings: LabConfig): StepArray => stepArrays(model, settings, rows)[0] as StepArray;
  const { what, bytes } = largest(config);
  if (bytes <= binding) return null;
  const found = settingChanges(config, choice).find(({ values }) => largest({ ...config, ...values }).bytes <= binding);
  const remedy = found === undefined ? "no single change of the sizes is enough" : `this is enough: ${found.label}`;
  return `${what} take ${bytesText(bytes)}, but this adapter binds at most ${bytesText(binding)} at once; ${remedy}`;
}
