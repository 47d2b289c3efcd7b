/**
 * A run for TRL: a GRPOConfig with every value written out, the completions under TRL's column names, and the adapter.
 * No stock trainer runs Sa2VA's mask branch; the README says so
 * (docs/spec/formats.md#83-completions-and-rollouts, docs/spec/formats.md#9-metric-names,
 * docs/spec/formats.md#10-handing-a-run-over-to-a-larger-engine).
 */

import { adapterFiles } from "../../engine/export/adapter.ts";
import { below, type ExportFiles, wholeFile } from "../../engine/export/export-file.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import type { TrainedTensors } from "../../engine/runs/checkpoint/trained.ts";
import type { GroupRecord, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import type { RunFolder } from "../../engine/runs/run-folder.ts";
import { withVisualTokens } from "../../engine/text/prompt.ts";
import { besideTrl, toTrl } from "../trl/names.ts";

/** @param trained null when the run has no checkpoint yet; the adapter is then left out */
export async function* trlFiles(run: RunFolder, trained: TrainedTensors | null): ExportFiles {
  const manifest = run.manifest();
  yield wholeFile("trl_grpo.yaml", trlConfig(run, trained));
  yield wholeFile("run.json", `${JSON.stringify(manifest, null, 2)}\n`);
  const terms = new Set<string>();
  for (const step of await run.groupSteps()) {
    const groups = await run.readGroups(step);
    for (const { rollouts } of groups) for (const own of rollouts) for (const { name } of own.terms) terms.add(name);
    const lines = groups.flatMap((group) => group.rollouts.map((rollout) => completionLine(rollout, group)));
    // A supervised step has no rollouts.
    if (lines.length === 0) continue;
    yield wholeFile(`completions/completions_${String(step).padStart(5, "0")}.jsonl`, `${lines.join("\n")}\n`);
  }
  if (trained !== null) yield* below("adapter", adapterFiles(manifest, trained));
  yield wholeFile("README.md", `${schema([...terms])}${README}`);
}

/** Types of the columns by name; a reward term is a real number. */
const COLUMNS = {
  ...{ step: "int64", prompt: "string", completion: "string", reward: "float64", advantage: "float64" },
  ...{ prompt_ids: "ids", completion_ids: "ids", action_ids: "ids", sampling_logps: "logps", ref_logps: "logps" },
  ...{ loop: "int64", group: "int64", rollout_id: "string", row_id: "string", image_id: "string", caption: "string" },
  ...{
    caption_prime: "string",
    reference_caption: "string",
    given_mask: "mask",
    predicted_mask: "mask",
    truncated: "bool",
  },
} as const;
const TYPES: Readonly<Record<string, string>> = {
  ids: "list: int64",
  logps: "list: float64",
  mask: "struct: [{ name: size, list: int64 }, { name: counts, dtype: string }]",
};

/** The head of a data card: `datasets` would else take a column that is null in the first file as null in all of them. */
function schema(terms: readonly string[]): string {
  const columns: [string, string][] = [
    ...Object.entries(COLUMNS),
    ...terms.map((name): [string, string] => [name, "float64"]),
  ];
  const features = columns.map(
    ([name, type]) => `  - { name: ${JSON.stringify(name)}, ${TYPES[type] ?? `dtype: ${type}`} }`,
  );
  const config = ["configs:", "- config_name: default", "  data_files: completions/*.jsonl"];
  return ["---", ...config, "dataset_info:", "  config_name: default", "  features:", ...features, "---", "", ""].join(
    "\n",
  );
}

/**
 * One completion under TRL's names, or the lab's where TRL has none. `prompt` is the text of the prompt's ids, so the
 * base model's tokenizer gives `prompt_ids` again; with the ids and log-probabilities of the sample, the rollout can be
 * replayed without a tokenizer. Real numbers have a decimal point, because `datasets` takes the type of a column from
 * the first file.
 */
function completionLine(rollout: RolloutRecord, group: GroupRecord): string {
  const terms = Object.fromEntries(rollout.terms.map(({ name, value }) => [name, value]));
  const { actions } = rollout;
  const row: Record<string, unknown> = {
    step: rollout.step,
    prompt: withVisualTokens(rollout.prompt),
    completion: rollout.completion,
    ...terms,
    reward: rollout.reward,
    advantage: rollout.advantage,
    prompt_ids: group.promptIds ?? null,
    // The answer of a loop that samples masks is forced, so its ids are those of the group.
    completion_ids:
      aboutLoop(rollout.loop).samples === "text" ? actions.map(({ id }) => id) : (group.answerIds ?? null),
    action_ids: actions.map(({ id }) => id),
    sampling_logps: actions.map(({ samplingLogp }) => samplingLogp),
    ref_logps: actions.map(({ refLogp }) => refLogp),
    loop: rollout.loop,
    group: rollout.group,
    rollout_id: rollout.id,
    row_id: rollout.rowId,
    image_id: rollout.imageId,
    caption: rollout.caption,
    caption_prime: rollout.captionPrime,
    reference_caption: rollout.referenceCaption,
    given_mask: rollout.givenMask,
    predicted_mask: rollout.predictedMask,
    truncated: rollout.truncated,
  };
  const real = new Set([...Object.keys(terms), "reward", "advantage", "sampling_logps", "ref_logps"]);
  const cells = Object.entries(row).map(([name, value]) => {
    const text = JSON.stringify(value);
    return `"${name}":${real.has(name) ? text.replace(/(^|[[,])(-?\d+)(?=[,\]]|$)/g, "$1$2.0") : text}`;
  });
  return `{${cells.join(",")}}`;
}

function trlConfig(run: RunFolder, trained: TrainedTensors | null): string {
  const { config, model, id } = run.manifest();
  const lines = [`# Settings of run ${id}, as TRL's GRPOConfig, ModelConfig and LoraConfig name them.`];
  lines.push(`model_name_or_path: ${JSON.stringify(model.name)}`);
  for (const line of besideTrl(config)) lines.push(`# ${line}`);
  for (const [name, value] of toTrl(config)) {
    const [above, below] = name.split(".");
    lines.push(below === undefined ? `${name}: ${yamlValue(value)}` : `${above}:\n  ${below}: ${yamlValue(value)}`);
  }
  lines.push("use_peft: true");
  const targets = trained?.lora?.targets ?? [];
  if (targets.length > 0) lines.push("lora_target_modules:", ...targets.map((target) => `  - ${target}`));
  lines.push("logging_steps: 1", "log_completions: true");
  return `${lines.join("\n")}\n`;
}

function yamlValue(value: unknown): string {
  if (typeof value !== "number") return JSON.stringify(value);
  // YAML 1.1 reads 1e-05 as text but 1.0e-05 as a number.
  const text = String(value);
  return /e/.test(text) && !text.includes(".") ? text.replace("e", ".0e") : text;
}

const README = `# A run for TRL

- \`trl_grpo.yaml\`: the run's settings that TRL has, under its names and in its units, written out even if they equal
  TRL's defaults. \`trl grpo --config trl_grpo.yaml --dataset_name …\` parses it; the lab reads it back. The schedule
  "linear-then-cosine" has no counterpart and is written as cosine, whose warm-up begins at 0. A micro-batch is one group.
  The weights of the rewards are in a comment, because \`reward_weights\` must match the reward functions you pass: one per
  weighted term, returning None for rows of other loops; the value of a cost has a negative weight. TRL has no
  counterpart for the EMA reference, the clamp of the KL, other KL estimators and a clip per loop, and synchronises a
  reference only without PEFT.
- \`completions/\`: one JSON object per rollout under TRL's column names. \`prompt\` has every visual token;
  \`prompt_ids\` and \`completion_ids\` are the token ids of prompt and answer;
  \`action_ids\` with \`sampling_logps\` and \`ref_logps\` are the actions in the loss: tokens where a loop samples text, parts
  of the mask where it samples masks. \`load_dataset("DIR")\` of this folder reads them, with the types at the top of this
  file.
- \`adapter/\`: the policy for PEFT, on Sa2VA's \`language_model\`, and the other trained modules.

TRL's trainers do not drive Sa2VA's mask branch. The receiving side needs a GRPOTrainer with its own generation (captions of
marked regions, masks at [SEG]), the partner's moving average and the two rewards; \`run.json\` has the settings of these.
`;
