/**
 * A checkpoint as a folder that PEFT loads, with the other trained modules (docs/spec/formats.md#81-peft-adapter,
 * docs/spec/formats.md#10-handing-a-run-over-to-a-larger-engine).
 */
import { badInput } from "../errors.ts";
import {
  ADAPTER_CONFIG,
  ADAPTER_MODEL,
  adapterConfigText,
  isLora,
  MODULES_FILE,
  toPeftName,
  wrappedName,
} from "../formats/peft-names.ts";
import { streamedFloats, streamSafetensors } from "../formats/safetensors.ts";
import type { TrainedTensors } from "../runs/checkpoint/trained.ts";
import type { RunManifest } from "../runs/manifest.ts";
import { type ExportFile, type ExportFiles, wholeFile } from "./export-file.ts";

/** Bytes of a piece of a file: the adapter of a large model would not fit one array. */
const PIECE = 16 * 2 ** 20;

/**
 * adapter_config.json, adapter_model.safetensors, modules.safetensors and a card.
 * @throws LabError("bad-input") when the run trained no adapter
 */
export async function* adapterFiles(manifest: RunManifest, trained: TrainedTensors): ExportFiles {
  const { lora, tensors } = trained;
  const file = (path: string, wanted: (name: string) => boolean, named = (name: string) => name): ExportFile => {
    const own = [...tensors].filter(([name]) => wanted(name));
    const list = own.map(([name, { shape, read }]) => streamedFloats(named(name), shape, read));
    return { path, pieces: () => streamSafetensors(list, PIECE) };
  };
  if (lora === null || ![...tensors.keys()].some(isLora)) {
    throw badInput(`Run "${manifest.id}" trained no adapter`, manifest.id);
  }
  yield wholeFile(ADAPTER_CONFIG, adapterConfigText(lora, manifest.model.name));
  yield file(ADAPTER_MODEL, isLora, toPeftName);
  yield file(MODULES_FILE, (name) => !isLora(name));
  yield wholeFile("README.md", adapterCard(manifest, trained));
}

function adapterCard(manifest: RunManifest, { step, side, lora, tensors }: TrainedTensors): string {
  const wrapped = wrappedName([...tensors.keys()].find(isLora) ?? "");
  const { model, data, config } = manifest;
  return `---
base_model: ${JSON.stringify(model.name)}
library_name: peft
tags: [grpo, sa2va, lora]
---

# ${manifest.title}

LoRA of rank ${lora?.r ?? 0} (alpha ${lora?.alpha ?? 0}) on the language model of ${model.name}, ${
    side === "ema" ? "the moving average" : "the policy"
  } after ${step} of ${config.steps} steps of dual-loop GRPO on ${data.name} (${data.trainRows} rows). Run \`${manifest.id}\`, started ${manifest.created}.

Sa2VA wraps its \`${wrapped}\`, so the adapter goes there, and the other trained tensors (projector, [SEG] prompt,
SAM2's mask decoder and prompt encoder) are loaded by name:

\`\`\`python
from peft import PeftModel
from safetensors.torch import load_file

model.${wrapped} = PeftModel.from_pretrained(model.${wrapped}, folder)
missing, unexpected = model.load_state_dict(load_file(f"{folder}/modules.safetensors"), strict=False)
assert not unexpected
\`\`\`
`;
}
