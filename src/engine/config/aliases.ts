/**
 * Names of settings in the project's design notes and in other training scripts: the setting that each one stands for,
 * or a sentence that names a replacement.
 */
import { quote, shortened } from "../errors.ts";
import { updatesPerStep } from "./derived.ts";
import type { LabConfig, SettingKey } from "./table.ts";

/** Values for settings, not validated yet, or a sentence about why there are none. */
export type Reading = { readonly values: Partial<Record<SettingKey, unknown>> } | { readonly problem: string };

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

export const ALIASES: ReadonlyMap<string, Alias> = new Map<string, Alias>([
  ["kl_coef", { keys: ["beta"] }],
  ["clip_range", { keys: ["epsilonLow", "epsilonHigh"] }],
  ["mask_to_caption_weight", { keys: ["loop1Weight"] }],
  ["caption_to_mask_weight", { keys: ["loop2Weight"] }],
  ["batch_size", { keys: ["promptsPerStep"] }],
  ["per_device_batch_size", { keys: ["promptsPerStep"] }],
  ["accumulative_counts", { keys: ["accumulation"] }],
  ["lr", { keys: ["learningRate"] }],
  // TRL supports it only for full fine-tuning, so exports for TRL do not set it.
  ["sync_ref_model", { keys: ["syncReference"] }],
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
        return { values: { minRateShare: typeof raw === "number" ? raw / peak : raw } };
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
  ["max_length", { idle: "the model defines the context; maxNewTokens limits captions" }],
  ["model_path", { idle: "the model is opened separately; the tools take --model or --checkpoint" }],
  ["dataset_name", { idle: "the data is opened separately; the tools take --shards" }],
]);

/** @returns undefined for a name that is not an alias */
export function readAlias(
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
