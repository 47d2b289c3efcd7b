/**
 * Settings under the names of TRL's GRPOConfig and ModelConfig, in both directions. Where TRL counts or spells otherwise,
 * values are converted; what has no counterpart here gets a sentence.
 */
import type { Setting } from "./setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "./table.ts";

/** TRL's name → the setting it stands for. */
const KEY_OF = new Map<string, SettingKey>(
  (Object.keys(SETTINGS) as SettingKey[]).flatMap((key) => {
    const { trl }: Setting = SETTINGS[key];
    return trl === undefined ? [] : [[trl, key] as const];
  }),
);

/** Names beside those of the table that switch a beat on or off. */
const BEATS = new Map<string, "saveSteps" | "evalSteps">([
  ["save_strategy", "saveSteps"],
  ["eval_strategy", "evalSteps"],
]);

/** Names that a run for TRL needs and that change nothing here, with the reason where one is worth a word. */
const WITHOUT_EFFECT = new Map([
  ["model_name_or_path", "the model is opened apart from its settings"],
  ["use_peft", ""],
  ["lora_target_modules", "adapters are on every linear layer of the language model"],
  ["logging_steps", ""],
  ["log_completions", ""],
]);

/** Read before all others, which are counted by them. */
const FIRST = ["num_iterations", "num_generations", "max_steps", "epsilon", "warmup_steps"];

/** Whether TRL has a setting of that name that is understood here. */
export function isTrlName(name: string): boolean {
  return KEY_OF.has(name) || BEATS.has(name) || WITHOUT_EFFECT.has(name);
}

/** The setting that a name of TRL stands for; undefined for names that have none. */
export function settingOf(name: string): SettingKey | undefined {
  return KEY_OF.get(name) ?? BEATS.get(name);
}

/** Why a name of TRL changes nothing here ("" when there is nothing to say); undefined for every other name. */
export function withoutEffect(name: string): string | undefined {
  return WITHOUT_EFFECT.get(name);
}

/** Names of TRL in the order in which they can be read. */
export function inReadingOrder(names: readonly string[]): readonly string[] {
  return [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))];
}

/** Values for settings, not checked yet, or a sentence about why there are none. */
export type TrlReading = { readonly values: Partial<Record<SettingKey, unknown>> } | { readonly problem: string };

/**
 * What a value under TRL's name means here.
 * @param name one for which `isTrlName` is true
 * @param raw as it stands in the file, address or command line
 * @param record everything given beside it
 * @param known settings so far: the base, those under own names, and those of names that are read earlier
 */
export function readTrl(
  name: string,
  raw: unknown,
  record: Readonly<Record<string, unknown>>,
  known: LabConfig,
): TrlReading {
  const beat = BEATS.get(name);
  if (beat !== undefined) return readStrategy(name, beat, raw);
  const key = KEY_OF.get(name);
  if (key === undefined) return readRest(name, raw);
  const as = (value: unknown): TrlReading => ({ values: { [key]: value } });
  const none = raw === null || raw === "null" || raw === "None";
  const number = numberOf(raw);
  switch (name) {
    case "max_steps":
      if (typeof number === "number" && number <= 0) {
        return { problem: `max_steps ${number} leaves the length to epochs; a run here has a number of steps` };
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
      return as(isShare(number) ? Math.ceil(known.steps * known.iterations * number) : raw);
    case "save_total_limit":
      if (!none && !(typeof number === "number" && number <= 0)) return as(raw);
      return { problem: `save_total_limit ${String(raw)} keeps every checkpoint; keepCheckpoints is at least 1 here` };
    case "per_device_train_batch_size":
      if (typeof number !== "number" || !Number.isInteger(number)) return as(raw);
      if (number % known.groupSize === 0) return as(number / known.groupSize);
      return {
        problem: `per_device_train_batch_size ${number} is no multiple of num_generations ${known.groupSize}; a micro-step here takes whole groups`,
      };
    case "top_k":
      return as(none || number === -1 ? 0 : raw);
    case "delta":
    case "min_p":
    case "max_grad_norm":
      return as(none ? 0 : raw);
    case "epsilon":
      // TRL's one ε holds on both sides unless the upper one is named.
      if (Object.hasOwn(record, "epsilon_high") || Object.hasOwn(record, "epsilonHigh")) return as(raw);
      return { values: { epsilonLow: raw, epsilonHigh: raw } };
    case "epsilon_high":
      return as(none ? known.epsilonLow : raw);
    case "scale_rewards":
      if (/^true$/i.test(String(raw))) return as("group");
      return as(/^(?:false|none)$/i.test(String(raw)) ? "none" : raw);
    case "lr_scheduler_type":
      if (raw !== "constant_with_warmup") return as(raw);
      if (known.warmupSteps === 0) return as("constant");
      return { problem: "lr_scheduler_type constant_with_warmup is not there; constant has no warm-up here" };
    default:
      return as(SETTINGS[key].kind === "flag" && typeof raw === "string" ? raw.toLowerCase() : raw);
  }
}

/** TRL counts every pass over a batch of rollouts, the lab the batches. */
function inPasses(name: string, key: SettingKey, raw: unknown, { iterations }: LabConfig): TrlReading {
  const count = numberOf(raw);
  if (typeof count !== "number" || !Number.isInteger(count)) return { values: { [key]: raw } };
  if (count % iterations === 0) return { values: { [key]: count / iterations } };
  return {
    problem: `${name} ${count} is no multiple of num_iterations ${iterations}; a step here is all passes over its rollouts`,
  };
}

/** A number that is written as text, such as an address has it; anything else as it is. */
function numberOf(raw: unknown): unknown {
  return typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
}

function readStrategy(name: string, key: "saveSteps" | "evalSteps", raw: unknown): TrlReading {
  if (isNo(raw)) return { values: { [key]: 0 } };
  if (raw === "steps") return { values: {} };
  return { problem: `${name} must be steps or no, not "${String(raw)}"` };
}

function readRest(name: string, raw: unknown): TrlReading {
  if (name === "use_peft" && /^false$/i.test(String(raw))) {
    return { problem: "use_peft false trains all weights; the language model is trained by adapters only" };
  }
  return { values: {} };
}

/** YAML reads a bare "no" as false. */
function isNo(raw: unknown): boolean {
  return raw === false || raw === "no" || raw === "false";
}

/** A share of the run in the place of a count, as transformers take it. */
function isShare(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value < 1;
}

/**
 * Settings that TRL has, under its names and in its units and spellings, in the order of the table. One value is only
 * near: the schedule "linear-then-cosine" becomes cosine, whose warm-up begins at 0.
 */
export function toTrl(config: LabConfig): readonly (readonly [name: string, value: unknown])[] {
  return [...KEY_OF].flatMap(([name, key]) => written(name, config[key], config));
}

function written(name: string, value: unknown, config: LabConfig): (readonly [string, unknown])[] {
  switch (name) {
    case "max_steps":
      return [[name, config.steps * config.iterations]];
    case "save_steps":
      return beatLines("save_strategy", name, config.saveSteps * config.iterations);
    case "eval_steps":
      return beatLines("eval_strategy", name, config.evalSteps * config.iterations);
    case "per_device_train_batch_size":
      return [[name, config.groupSize * config.promptsPerStep]];
    case "delta":
    case "min_p":
      return [[name, value === 0 ? null : value]];
    case "lr_scheduler_type":
      return [[name, value === "constant" ? "constant" : "cosine"]];
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
