/**
 * Settings under the names of TRL's GRPOConfig and ModelConfig, in both directions. Values with other units or spellings
 * are converted; a setting without a counterpart gets a sentence.
 */

import { decimal } from "../../engine/bytes/text.ts";
import { updatesPerStep } from "../../engine/config/derived.ts";
import { weightKeys } from "../../engine/config/groups/reward-weights.ts";
import { trlName } from "../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import { quote, shortened } from "../../engine/errors.ts";

// Names of settings in the project's design notes and in other training scripts: the setting that each one stands for,
// or a sentence that names a replacement.

/** Values for settings, not validated yet, or a sentence about why there are none. */
type Reading = { readonly values: Partial<Record<SettingKey, unknown>> } | { readonly problem: string };

interface Alias {
  /** Settings that take the value unchanged. */
  readonly keys?: readonly SettingKey[];
  /** @param record all given values @param known the settings so far */
  readonly read?: (raw: unknown, record: Readonly<Record<string, unknown>>, known: LabConfig) => Reading;
  /** Why the name changes nothing; "" without a reason. */
  readonly idle?: string;
}

const EPOCHS: Alias = {
  read: (raw, record) =>
    Object.hasOwn(record, "max_steps") || Object.hasOwn(record, "steps")
      ? { values: {} }
      : {
          problem: `The length of a run is a number of steps, not ${typeof raw === "object" ? "" : `${shortened(String(raw), 20)} `}epochs; set steps to epochs × training rows / (promptsPerStep × accumulation)`,
        },
  idle: "steps sets the length",
};

/** Weights of METEOR and judge with a judge, and without one. */
function judged(meteor: "loop1Meteor" | "loop2Meteor", judge: "loop1Judge" | "loop2Judge", without: number): Alias {
  return {
    read(raw, _record, known) {
      const on = raw === "" || (typeof raw !== "object" && /^(?:true|1)$/i.test(String(raw)));
      if (!on) return { values: { [meteor]: without, [judge]: 0 } };
      if (known.judge !== "off") return { values: { [meteor]: 0.25, [judge]: 0.75 } };
      return { problem: "use_llm_judge needs a judge: name it with --judge URL, or set judge and judgeUrl" };
    },
  };
}

/** Names of settings in links, files and runs of earlier versions, and today's names. */
export const FORMER_NAMES = {
  adamEps: "adamEpsilon",
  adaptiveEntropy: "useAdaptiveEntropy",
  biasCorrectedKl: "useBiasCorrectionKl",
  entropyCoefficient: "entropyCoef",
  entropyCoefficientMax: "entropyCoefMax",
  entropyCoefficientMin: "entropyCoefMin",
  entropyStep: "entropyCoefDelta",
  groupSize: "numGenerations",
  importanceLevel: "importanceSamplingLevel",
  iterations: "numIterations",
  keepCheckpoints: "saveTotalLimit",
  loraRank: "loraR",
  maskTruncated: "maskTruncatedCompletions",
  maxNewTokens: "maxCompletionLength",
  minRateShare: "minLrRate",
  offPolicyThreshold: "offPolicyMaskThreshold",
  recompute: "gradientCheckpointing",
  referenceMixup: "refModelMixupAlpha",
  referenceSyncSteps: "refModelSyncSteps",
  rewardAggregation: "multiObjectiveAggregation",
  sapoTemperatureNegative: "sapoTemperatureNeg",
  sapoTemperaturePositive: "sapoTemperaturePos",
  schedule: "lrSchedulerType",
  syncReference: "syncRefModel",
  vespoKNegative: "vespoKNeg",
  vespoKPositive: "vespoKPos",
  vespoLambdaNegative: "vespoLambdaNeg",
  vespoLambdaPositive: "vespoLambdaPos",
} as const satisfies Readonly<Record<string, SettingKey>>;

const ALIASES: ReadonlyMap<string, Alias> = new Map<string, Alias>([
  ...Object.entries(FORMER_NAMES).map(([former, key]) => [former, { keys: [key] }] as const),
  ["kl_coef", { keys: ["beta"] }],
  ["clip_range", { keys: ["epsilonLow", "epsilonHigh"] }],
  ["mask_to_caption_weight", { keys: ["loop1Weight"] }],
  ["caption_to_mask_weight", { keys: ["loop2Weight"] }],
  ["batch_size", { keys: ["promptsPerStep"] }],
  ["per_device_batch_size", { keys: ["promptsPerStep"] }],
  ["accumulative_counts", { keys: ["accumulation"] }],
  ["lr", { keys: ["learningRate"] }],
  // TRL supports it only for full fine-tuning, so exports for TRL do not set it.
  ["sync_ref_model", { keys: ["syncRefModel"] }],
  ["num_epochs", EPOCHS],
  ["num_train_epochs", EPOCHS],
  ["max_epochs", EPOCHS],
  ["use_llm_judge", judged("loop1Meteor", "loop1Judge", 0)],
  ["use_llm_judge_loop2", judged("loop2Meteor", "loop2Judge", 1)],
  [
    "warmup_ratio",
    {
      // As transformers reads it: a number of steps counts more.
      read: (raw, record, known) => {
        const [share, steps] = [raw, record.warmup_steps].map(Number);
        if ((steps as number) > 0) return { values: {} };
        if (!(typeof share === "number" && share >= 0 && share <= 1)) {
          return { problem: `warmup_ratio must be a number from 0 to 1, not ${quote(raw)}` };
        }
        return { values: { warmupSteps: Math.ceil(known.steps * updatesPerStep(known) * share) } };
      },
    },
  ],
  [
    "lr_scheduler_kwargs.min_lr",
    {
      read: (raw, record, known) => {
        const peak = Number(record.learningRate ?? record.learning_rate ?? record.lr ?? known.learningRate);
        return { values: { minLrRate: typeof raw === "number" ? raw / peak : raw } };
      },
    },
  ],
  [
    "lr_scheduler_kwargs.num_cycles",
    {
      read: (raw) =>
        Number(raw) === 0.5
          ? { values: {} }
          : { problem: `lr_scheduler_kwargs.num_cycles ${quote(raw)} is not possible; the cosine falls once` },
      idle: "",
    },
  ],
  ["bf16", { idle: "trained tensors and sums are always f32" }],
  ["max_length", { idle: "the model defines the context; maxCompletionLength limits captions" }],
  ["model_path", { idle: "the model is opened separately; the tools take --model or --checkpoint" }],
  ["dataset_name", { idle: "the data is opened separately; the tools take --shards" }],
]);

/** @returns undefined for a name that is not an alias */
function readAlias(
  name: string,
  raw: unknown,
  record: Readonly<Record<string, unknown>>,
  known: LabConfig,
): Reading | undefined {
  const alias = ALIASES.get(name);
  if (alias === undefined) return undefined;
  if (alias.read !== undefined) return alias.read(raw, record, known);
  const value = typeof raw === "string" && /^(?:true|false)$/i.test(raw) ? raw.toLowerCase() : raw;
  return { values: Object.fromEntries((alias.keys ?? []).map((key) => [key, value])) };
}

/** TRL's name → setting. */
const KEY_OF = new Map<string, SettingKey>(
  (Object.keys(SETTINGS) as SettingKey[]).flatMap((key) => {
    const name = trlName(key, SETTINGS[key]);
    return name === undefined ? [] : [[name, key] as const];
  }),
);

/** Additional names that switch an interval on or off. */
const INTERVALS = new Map<string, "saveSteps" | "evalSteps">([
  ["save_strategy", "saveSteps"],
  ["eval_strategy", "evalSteps"],
]);

/** TRL's list of weights, for the cells of the reward matrix in table order; costs are negative. */
const REWARDS = "reward_weights";

/** Names that TRL needs and that have no effect here, with a reason unless it is obvious. */
const WITHOUT_EFFECT = new Map([
  ["model_name_or_path", "the model is opened separately"],
  ["use_peft", ""],
  ["lora_target_modules", "adapters are on every linear layer of the language model"],
  ["logging_steps", ""],
  ["logging_strategy", ""],
  ["logging_first_step", ""],
  ["log_completions", ""],
  ["log_level", ""],
  ["report_to", "export the run with npm run export"],
  ["output_dir", "the tools take --out"],
  ["do_eval", "evalSteps sets when held-out rows are scored"],
  ["attn_implementation", "the engine has its own attention"],
  ["gradient_checkpointing_kwargs.use_reentrant", ""],
  ["push_to_hub", "nothing is uploaded"],
  ["hub_strategy", "nothing is uploaded"],
  ["per_device_eval_batch_size", "held-out rows are scored one by one"],
]);

/** Read before the names that depend on them. */
const FIRST = [
  "num_iterations",
  "num_generations",
  "gradient_accumulation_steps",
  "steps_per_generation",
  "max_steps",
  "clip_range",
  "epsilon",
  "warmup_steps",
  "warmup_ratio",
];

/** Whether the name is a known setting of TRL or another training script. */
export function isTrlName(name: string): boolean {
  return KEY_OF.has(name) || INTERVALS.has(name) || name === REWARDS || WITHOUT_EFFECT.has(name) || ALIASES.has(name);
}

/** The setting for a TRL name; undefined if there is none. */
function settingOf(name: string): SettingKey | undefined {
  return KEY_OF.get(name) ?? INTERVALS.get(name) ?? ALIASES.get(name)?.keys?.[0];
}

/** Why a TRL name has no effect ("" without a reason); undefined for all other names. */
function withoutEffect(name: string): string | undefined {
  return WITHOUT_EFFECT.get(name) ?? ALIASES.get(name)?.idle;
}

/** TRL names in the order of their dependencies. */
function inReadingOrder(names: readonly string[]): readonly string[] {
  const first = [...Object.keys(FORMER_NAMES), ...FIRST];
  return [...first.filter((name) => names.includes(name)), ...names.filter((name) => !first.includes(name))];
}

/**
 * Converts a value under a TRL name.
 * @param name a name for which `isTrlName` is true
 * @param raw value in the file, address or command line
 * @param record all given values
 * @param known settings so far: the base, settings under the lab's names, and names read earlier
 */
function readTrl(name: string, raw: unknown, record: Readonly<Record<string, unknown>>, known: LabConfig): Reading {
  const alias = readAlias(name, raw, record, known);
  if (alias !== undefined) return alias;
  if (name === REWARDS) return readRewardWeights(raw, known);
  const interval = INTERVALS.get(name);
  if (interval !== undefined) return readStrategy(name, interval, raw);
  const key = KEY_OF.get(name);
  if (key === undefined) return readRest(name, raw);
  const as = (value: unknown): Reading => ({ values: { [key]: value } });
  const none = raw === null || raw === "null" || raw === "None";
  const number = numberOf(raw);
  switch (name) {
    case "max_steps":
      if (typeof number === "number" && number <= 0) {
        return { problem: `max_steps ${number} sets the length in epochs; set a number of steps` };
      }
      return inPasses(name, key, raw, known);
    case "save_steps":
    case "eval_steps": {
      const strategy = record[name === "save_steps" ? "save_strategy" : "eval_strategy"];
      if (isNo(strategy)) return { values: {} };
      if (isShare(number)) return as(Math.ceil(known.steps * number));
      return inPasses(name, key, raw, known);
    }
    case "warmup_steps":
      return as(isShare(number) ? Math.ceil(known.steps * updatesPerStep(known) * number) : raw);
    case "save_total_limit":
      if (!none && !(typeof number === "number" && number <= 0)) return as(raw);
      return { problem: `save_total_limit ${quote(raw)} is not possible; saveTotalLimit is at least 1` };
    case "gradient_accumulation_steps": {
      const joined = joinedBatches(record);
      if (joined === 1) return as(raw);
      const prompts = known.promptsPerStep * joined;
      const rest = Object.hasOwn(record, "per_device_train_batch_size") ? {} : { promptsPerStep: prompts };
      return { values: { [key]: (number as number) / joined, ...rest } };
    }
    case "per_device_train_batch_size":
      if (typeof number !== "number" || !Number.isInteger(number)) return as(raw);
      if (number % known.numGenerations === 0) return as((number / known.numGenerations) * joinedBatches(record));
      return {
        problem: `per_device_train_batch_size ${number} is not a multiple of num_generations ${known.numGenerations}; a micro-step takes whole groups`,
      };
    case "top_k":
      return as(none || number === -1 ? 0 : raw);
    case "delta":
    case "min_p":
    case "max_grad_norm":
    case "off_policy_mask_threshold":
      return as(none ? 0 : raw);
    case "steps_per_generation":
      return as(none ? 0 : typeof number === "number" ? number / joinedBatches(record) : raw);
    case "epsilon":
      // TRL's single ε applies to both sides unless the upper one is given.
      if (Object.hasOwn(record, "epsilon_high")) return as(raw);
      return { values: { epsilonLow: raw, epsilonHigh: raw } };
    case "epsilon_high":
      return as(none ? known.epsilonLow : raw);
    case "scale_rewards":
      if (isWord(raw, /^true$/i)) return as("group");
      return as(isWord(raw, /^(?:false|none)$/i) ? "none" : raw);
    case "lr_scheduler_type":
      // The same schedule with an end above 0, which a name of its own sets.
      if (raw === "cosine_with_min_lr") return as("cosine");
      if ((raw === "cosine" || raw === "constant") && known.minLrRate !== 0) {
        return { values: { lrSchedulerType: raw, minLrRate: 0 } };
      }
      if (raw !== "constant_with_warmup") return as(raw);
      if (known.warmupSteps === 0) return as("constant");
      return {
        problem: "lr_scheduler_type constant_with_warmup is not supported; the constant schedule has no warm-up",
      };
    default:
      return as(SETTINGS[key].kind === "flag" && typeof raw === "string" ? raw.toLowerCase() : raw);
  }
}

/**
 * Number of TRL micro-batches per micro-batch of the lab: 1, unless a count exceeds the lab's range, because the lab
 * exports every group as one TRL micro-batch. A batch in the lab's units stays as it is.
 */
function joinedBatches(record: Readonly<Record<string, unknown>>): number {
  const { promptsPerStep, accumulation, stepsPerGeneration } = SETTINGS;
  if (Object.keys(record).some(fixesBatch)) return 1;
  const total = numberOf(record.gradient_accumulation_steps);
  const generated = numberOf(record.steps_per_generation);
  if (typeof total !== "number" || !Number.isInteger(total)) return 1;
  const set = typeof generated === "number" && Number.isInteger(generated) ? generated : 0;
  const fits = (count: number, n: number, max: number): boolean => count % n === 0 && count / n <= max;
  for (let n = 1; n <= promptsPerStep.max; n++) {
    if (fits(total, n, accumulation.max) && fits(set, n, stepsPerGeneration.max)) return n;
  }
  return 1;
}

/** Whether the name sets a part of the batch in the lab's units. */
function fixesBatch(name: string): boolean {
  const key = ALIASES.get(name)?.keys?.[0] ?? name;
  return key === "promptsPerStep" || key === "accumulation" || key === "stepsPerGeneration";
}

/** TRL counts updates, the lab counts sets of rollouts. */
function inPasses(name: string, key: SettingKey, raw: unknown, known: LabConfig): Reading {
  const count = numberOf(raw);
  const updates = updatesPerStep(known);
  if (typeof count !== "number" || !Number.isInteger(count)) return { values: { [key]: raw } };
  if (count % updates === 0) return { values: { [key]: count / updates } };
  const of =
    updates === known.numIterations ? `num_iterations ${updates}` : `the ${updates} updates of a set of rollouts`;
  return { problem: `${name} ${count} is not a multiple of ${of}; a step makes all updates on its rollouts` };
}

/** Either all weights of the matrix, or those that are not 0 now, in table order. */
function readRewardWeights(raw: unknown, known: LabConfig): Reading {
  const list = listOf(raw);
  const all = weightKeys(known);
  const used = all.filter((key) => known[key] !== 0);
  const keys = list?.length === all.length ? all : used;
  if (list === null || list.length !== keys.length) {
    return {
      problem: `reward_weights must be a list of ${all.length} weights in the order of the table, or of ${used.length} for ${used.join(", ")}`,
    };
  }
  // Avoids -0.
  const value = (key: SettingKey, weight: unknown): unknown => {
    const number = numberOf(weight);
    return typeof number === "number" ? (isCost(key) ? -number : number) + 0 : weight;
  };
  return { values: Object.fromEntries(keys.map((key, at) => [key, value(key, list[at])])) };
}

/** A list, also as text such as "[1, 0.5]" or "1,0.5"; null for anything else. */
function listOf(raw: unknown): readonly unknown[] | null {
  if (Array.isArray(raw)) return raw;
  if (typeof raw === "number") return [raw];
  if (typeof raw !== "string") return null;
  const inner = raw.trim().replace(/^\[(.*)\]$/s, "$1");
  return inner === "" ? [] : inner.split(/[\s,]+/).filter((word) => word !== "");
}

function isCost(key: SettingKey): boolean {
  return key.endsWith("Cost");
}

/** A number from text; any other value unchanged. */
function numberOf(raw: unknown): unknown {
  return typeof raw === "string" && raw.trim() !== "" ? decimal(raw) : raw;
}

function readStrategy(name: string, key: "saveSteps" | "evalSteps", raw: unknown): Reading {
  if (isNo(raw)) return { values: { [key]: 0 } };
  if (raw === "steps") return { values: {} };
  return { problem: `${name} must be steps or no, not ${quote(raw)}` };
}

function readRest(name: string, raw: unknown): Reading {
  if (name === "use_peft" && isWord(raw, /^false$/i)) {
    return { problem: "use_peft false trains all weights; the language model is trained by adapters only" };
  }
  return { values: {} };
}

/** Whether a value has this text; false for lists and objects. */
function isWord(raw: unknown, form: RegExp): boolean {
  return typeof raw !== "object" && form.test(String(raw));
}

/** YAML reads a bare "no" as false. */
function isNo(raw: unknown): boolean {
  return raw === false || raw === "no" || raw === "false";
}

/** A share of the run instead of a count, as transformers accepts it. */
function isShare(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value < 1;
}

/**
 * Settings under TRL's names, in its units and spellings, in table order, plus values that differ from TRL's defaults.
 * A micro-batch of TRL is one group, because losses that TRL averages over the tokens of a micro-batch are averaged
 * over those of a group here. One value is approximate: the schedule "linear-then-cosine" becomes cosine, whose warm-up
 * begins at 0.
 */
export function toTrl(config: LabConfig): readonly (readonly [name: string, value: unknown])[] {
  return [
    ...[...KEY_OF].flatMap(([name, key]) => written(name, config[key], config)),
    ["per_device_eval_batch_size", config.numGenerations],
    ["bf16", false],
  ];
}

/**
 * TRL settings that a configuration file cannot contain: weights belong to reward functions in code, and TRL does not
 * synchronise the reference of an adapter. One line each, for comments.
 */
export function besideTrl(config: LabConfig): readonly string[] {
  const used = weightKeys(config).filter((key) => config[key] !== 0);
  const weights = used.map((key) => (isCost(key) ? -config[key] : config[key]));
  return [
    `${REWARDS}: [${weights.join(", ")}] for ${used.join(", ")}`,
    ...(config.syncRefModel ? ["sync_ref_model: true, which TRL refuses with PEFT"] : []),
  ];
}

function written(name: string, value: unknown, config: LabConfig): (readonly [string, unknown])[] {
  switch (name) {
    case "max_steps":
      return [[name, config.steps * updatesPerStep(config)]];
    case "save_steps":
      return beatLines("save_strategy", name, config.saveSteps * updatesPerStep(config));
    case "eval_steps":
      return beatLines("eval_strategy", name, config.evalSteps * updatesPerStep(config));
    case "per_device_train_batch_size":
      return [[name, config.numGenerations]];
    case "gradient_accumulation_steps":
      return [[name, config.accumulation * config.promptsPerStep]];
    case "steps_per_generation":
      return [[name, value === 0 ? null : config.stepsPerGeneration * config.promptsPerStep]];
    case "importance_sampling_level":
      // In the lab, luspo is always a sequence loss.
      return [[name, config.lossType === "luspo" ? "sequence" : value]];
    case "delta":
    case "min_p":
    case "off_policy_mask_threshold":
      return [[name, value === 0 ? null : value]];
    case "lr_scheduler_type":
      return [[name, value === "constant" ? value : config.minLrRate > 0 ? "cosine_with_min_lr" : "cosine"]];
    case "lr_scheduler_kwargs.min_lr_rate":
      return config.lrSchedulerType === "constant" || value === 0 ? [] : [[name, value]];
    default:
      return [[name, value]];
  }
}

function beatLines(strategy: string, name: string, every: number): (readonly [string, unknown])[] {
  if (every === 0) return [[strategy, "no"]];
  return [
    [strategy, "steps"],
    [name, every],
  ];
}

/** Listed in `setting-names.ts`. */
export const trlNames = {
  former: Object.keys(FORMER_NAMES),
  has: isTrlName,
  settingOf,
  withoutEffect,
  inReadingOrder,
  read: readTrl,
};
