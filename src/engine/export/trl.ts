/**
 * A run for TRL: a GRPOConfig with every value written out, the completions under TRL's column names, and the adapter.
 * No stock trainer drives Sa2VA's mask branch, which the README says (reference: ecosystem.md §8.3, §9, §10).
 */

import { toTrl } from "../config/trl.ts";
import type { RolloutRecord } from "../runs/records.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import type { TrainedTensors } from "../runs/trained.ts";
import { adapterFiles } from "./adapter.ts";
import { below, type ExportFiles, wholeFile } from "./export-file.ts";

/** @param trained null when the run has no checkpoint yet; the adapter is then left out */
export async function* trlFiles(run: RunFolder, trained: TrainedTensors | null): ExportFiles {
  const manifest = run.manifest();
  yield wholeFile("trl_grpo.yaml", trlConfig(run, trained));
  yield wholeFile("run.json", `${JSON.stringify(manifest, null, 2)}\n`);
  for (const step of await run.groupSteps()) {
    const rollouts = (await run.readGroups(step)).flatMap((group) => group.rollouts);
    const lines = rollouts.map((rollout) => JSON.stringify(completionRow(rollout)));
    yield wholeFile(`completions/completions_${String(step).padStart(5, "0")}.jsonl`, `${lines.join("\n")}\n`);
  }
  if (trained !== null) yield* below("adapter", adapterFiles(manifest, trained));
  yield wholeFile("README.md", README);
}

/** One completion under TRL's names, with ours where TRL has none. */
function completionRow(rollout: RolloutRecord): Record<string, unknown> {
  const terms = Object.fromEntries(rollout.terms.map(({ name, value }) => [name, value]));
  return {
    step: rollout.step,
    prompt: rollout.prompt,
    completion: rollout.completion,
    ...terms,
    reward: rollout.reward,
    advantage: rollout.advantage,
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
}

function trlConfig(run: RunFolder, trained: TrainedTensors | null): string {
  const { config, model, id } = run.manifest();
  const lines = [`# Settings of run ${id}, as TRL's GRPOConfig, ModelConfig and LoraConfig name them.`];
  lines.push(`model_name_or_path: ${JSON.stringify(model.name)}`);
  for (const [name, value] of toTrl(config)) lines.push(`${name}: ${yamlValue(value)}`);
  lines.push("use_peft: true");
  const targets = trained?.lora?.targets ?? [];
  if (targets.length > 0) lines.push("lora_target_modules:", ...targets.map((target) => `  - ${target}`));
  lines.push("logging_steps: 1", "log_completions: true");
  return `${lines.join("\n")}\n`;
}

function yamlValue(value: unknown): string {
  if (typeof value !== "number") return JSON.stringify(value);
  // YAML 1.1 reads 1e-05 as text without the point.
  const text = String(value);
  return /e/.test(text) && !text.includes(".") ? text.replace("e", ".0e") : text;
}

const README = `# A run for TRL

- \`trl_grpo.yaml\`: every setting of the run that TRL knows, under TRL's name and in its units. None is left to a default.
  The lab reads it back. Only the schedule "linear-then-cosine" has no counterpart and is written as cosine, whose
  warm-up begins at 0.
- \`completions/\`: what was sampled, scored and how it weighed, under TRL's column names, one JSON object a line.
- \`adapter/\`: the policy for PEFT, on Sa2VA's \`language_model\`, and the other trained modules.

No stock trainer drives Sa2VA's mask branch. The receiving side needs a GRPOTrainer with its own generation (captions of
marked regions, masks at [SEG]), the partner's moving average and the two rewards; \`run.json\` has what these were.
`;
