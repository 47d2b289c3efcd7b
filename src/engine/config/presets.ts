/** Presets: differences from the defaults of the table, with reasons. */

import { PLUGINS, type PluginMode, type PluginPreset } from "../../plugins/list.ts";
import { added } from "../../plugins/plugin.ts";
import type { TermName } from "../rewards/terms/registry.ts";
import type { DemoSet, LoopAbout, LoopPreset } from "../rl/loops/about.ts";
import { LOOPS, type LoopId } from "../rl/loops/abouts.ts";
import { weightKey, weightKeys } from "./groups/reward-weights.ts";
import { MODES } from "./modes.ts";
import { defaultConfig } from "./parse.ts";
import type { LabConfig } from "./table.ts";

export type PresetName = "demo" | "repair" | "real" | PluginMode | PluginPreset;

export interface Preset {
  readonly name: PresetName;
  readonly title: string;
  readonly summary: string;
  /** Results of runs with this preset (docs/learning.md). */
  readonly evidence?: string;
  /** Whether it is offered with others, behind the four main ones. */
  readonly more?: true;
  /** Folder under public/pocket of the model that it trains, where that is not `model`. */
  readonly pocketModel?: string;
  /** Rows that come with the page for this preset; opening them chooses it. */
  readonly demoSet?: DemoSet;
  readonly values: Partial<LabConfig>;
}

/**
 * Sizes for the pocket model: its layers are narrower than rank 128, and computing its features is faster than reading
 * them.
 */
const SMALL: Partial<LabConfig> = {
  loraR: 16,
  loraAlpha: 32,
  promptsPerStep: 4,
  groupsAtOnce: 0,
  numGenerations: 8,
  maxCompletionLength: 12,
  partnerMaxTokens: 12,
  steps: 40,
  heldOutShare: 0.2,
  // Rewards of a few sampled rows are noisy, so held-out rows show the progress.
  evalSteps: 10,
  evalRows: 32,
  featureDisk: 0,
};

/**
 * Settings with which the pocket model learns without losing vocabulary or mask quality; docs/learning.md has the table.
 * Advantages are scaled over the batch, so that groups with equally good captions do not dominate. Adapters learn fast,
 * projector and mask modules slowly.
 */
const POCKET: Partial<LabConfig> = {
  ...SMALL,
  // Twice the rank at half the rate: the same signal, less noise and less drift of words.
  loraR: 32,
  loraAlpha: 64,
  learningRate: 6e-4,
  projectorRateFactor: 0.02,
  maskRateFactor: 0.005,
  emaDecay: 0.95,
  beta: 0.5,
  scaleRewards: "batch",
  maskPolicy: "field",
  fieldSigma: 1.5,
  ...loopValues("pocket"),
};

/**
 * Settings for a checkpoint of 1B or more. Rank 16 keeps moments and averages small, and recomputation does the same
 * for activations. The plan asks for the GPU's memory and offers changes that fit it (`session/plan.ts`).
 */
const REAL: Partial<LabConfig> = {
  numGenerations: 8,
  weightStorage: "f16",
  featureStorage: "f16",
  gradientCheckpointing: true,
  loraR: 16,
  loraAlpha: 32,
  learningRate: 1e-5,
  maxCompletionLength: 64,
  partnerMaxTokens: 64,
  steps: 100,
  accumulation: 4,
  warmupSteps: 5,
  evalSteps: 25,
};

export const PRESETS: readonly Preset[] = [
  {
    name: "demo",
    title: "Demo",
    summary:
      'A pocket model that only says "a book" learns to say which one, from the IoU of its partner\'s mask alone, in a minute or two. Loop 2 is shown but does not train',
    evidence:
      "With every tested seed greedy captions of held-out rows become precise: their IoU rises by 0.37 to 0.46 and METEOR, which is not in the reward, by 0.59 to 0.69; with shuffled rewards neither does",
    pocketModel: "vague-model",
    demoSet: { name: "demo shard", rows: "pocket/shards/" },
    values: {
      ...POCKET,
      ...loopValues("demo"),
      // With three, a fourth of the seeds needed more than 30 steps (docs/learning.md).
      promptsPerStep: 6,
      // A stronger KL holds the captions at their vague start; with 0.02 a control with shuffled rewards lost its words.
      beta: 0.1,
      learningRate: 1.2e-3,
      // A falling rate ends before the captions change.
      lrSchedulerType: "constant",
      scaleRewards: "group",
      steps: 25,
      evalSteps: 5,
    },
  },
  ...LOOPS.flatMap(({ id, presets = [] }: LoopAbout<LoopId>) =>
    presets.map((preset) => ofPocket({ ...preset, values: { loops: `${id}`, ...preset.values } })),
  ),
  {
    name: "real",
    title: "Real checkpoint",
    summary:
      "Both loops on a checkpoint of 1B or more, activations recomputed. Opening one chooses groups, rank, tiles and storage that fit the GPU's memory",
    values: REAL,
  },
  ...MODES.map(({ name, preset: { values, ...texts } }): Preset => {
    return { name, ...texts, values: { ...SMALL, mode: name, ...values } };
  }),
  ...added(PLUGINS, "presets").flat().map(ofPocket),
];

/** A preset that lists its differences from the settings of the pocket model. */
function ofPocket({ values, ...texts }: LoopPreset): Preset {
  return { ...texts, name: texts.name as PresetName, values: { ...POCKET, ...values } };
}

function loopValues(name: "pocket" | "demo"): Partial<LabConfig> {
  return Object.assign({}, ...LOOPS.map((loop: LoopAbout) => loop[name]));
}

export function presetConfig(name: PresetName): LabConfig {
  return { ...defaultConfig(), ...PRESETS.find((preset) => preset.name === name)?.values };
}

// Named reward matrices: three sparse mixes, and a shaped one. The loops' descriptions contain their weights.

export interface RewardPreset {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly values: Partial<LabConfig>;
}

/** Weights of both loops; an optional loop keeps its weights. */
const NOTHING = Object.fromEntries(weightKeys().map((key) => [key, 0]));

export const REWARD_PRESETS: readonly RewardPreset[] = [
  { name: "standard", title: "Standard" },
  { name: "noJudge", title: "Without a judge" },
  { name: "judgeCaptions", title: "Judge in loop 1" },
  { name: "shaped", title: "Shaped" },
].map(({ name, title }) => {
  const loops = LOOPS.flatMap(({ id, matrices }: LoopAbout<LoopId>) => {
    const own = matrices?.[name];
    return own === undefined ? [] : [{ id, ...own }];
  });
  const weights = loops.flatMap(({ id, terms }) =>
    Object.entries(terms).map(([term, weight]) => [weightKey(id, term as TermName), weight] as const),
  );
  const texts = loops.flatMap(({ id, text }) => (text === undefined ? [] : `loop ${id} ${text}`)).join(", ");
  const summary = `${texts[0]?.toUpperCase()}${texts.slice(1)}`;
  return { name, title, summary, values: { ...NOTHING, ...Object.fromEntries(weights) } };
});
