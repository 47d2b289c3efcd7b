/** `adapter_config.json` and `adapter_model.safetensors` in PEFT's form (reference: ecosystem.md §8.1). */
import { isRecord, readJson } from "../bytes/json.ts";
import type { ByteFolder } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import type { LanguageConfig } from "./config.ts";
import { languageLinears } from "./language-shapes.ts";
import { fromPeftName, type HostTensor, loraShapes, toPeftName } from "./lora-factors.ts";
import { openSafetensors } from "./safetensors.ts";
import { writeSafetensors } from "./safetensors-write.ts";

const CONFIG = "adapter_config.json";
const MODEL = "adapter_model.safetensors";

export interface AdapterSettings {
  readonly rank: number;
  readonly alpha: number;
  readonly dropout: number;
}

export interface Adapter extends AdapterSettings {
  /** What the branch is multiplied by: alpha / r, or alpha / √r with rank-stabilised scaling. */
  readonly scale: number;
  /** Names as paths of the whole model. */
  readonly tensors: readonly HostTensor[];
}

/**
 * Reads an adapter of the language model. Layers it leaves out have no branch.
 * @throws LabError naming the field or tensor that does not fit the model
 */
export async function readAdapter(folder: ByteFolder, config: LanguageConfig): Promise<Adapter> {
  const [configSource, modelSource] = [CONFIG, MODEL].map((path) => {
    const source = folder.get(path);
    if (source === undefined) throw new LabError("bad-input", `The adapter folder has no ${path}`, { subject: path });
    return source;
  }) as [NonNullable<ReturnType<ByteFolder["get"]>>, NonNullable<ReturnType<ByteFolder["get"]>>];
  const settings = parseSettings(await readJson(configSource));
  const file = await openSafetensors(modelSource);
  const known = new Map(loraShapes(config, settings.rank).map(({ name, shape }) => [name, shape] as const));
  const tensors: HostTensor[] = [];
  for (const stored of file.names) {
    const name = fromPeftName(stored);
    const shape = known.get(name);
    const { shape: found } = file.info(stored);
    if (shape === undefined || String(shape) !== String(found)) {
      const wanted = shape === undefined ? "the model has no such layer" : `the model needs [${shape.join(", ")}]`;
      throw new LabError("bad-input", `${MODEL}: tensor "${stored}" is [${found.join(", ")}], ${wanted}`, {
        subject: stored,
      });
    }
    tensors.push({ name, shape, values: await file.read(stored) });
  }
  const names = new Set(tensors.map((tensor) => tensor.name));
  for (const name of names) {
    const partner = name.includes(".lora_A.")
      ? name.replace(".lora_A.", ".lora_B.")
      : name.replace(".lora_B.", ".lora_A.");
    if (!names.has(partner)) {
      throw new LabError("bad-input", `${MODEL} has "${toPeftName(name)}" without its other factor`, { subject: name });
    }
  }
  if (tensors.length === 0) throw new LabError("bad-input", `${MODEL} has no tensor`, { subject: MODEL });
  return { ...settings, tensors };
}

function parseSettings(json: unknown): AdapterSettings & { scale: number } {
  if (!isRecord(json) || json.peft_type !== "LORA") {
    throw new LabError("unsupported", `${CONFIG} describes no LoRA adapter (peft_type)`, { subject: "peft_type" });
  }
  const { r: rank, lora_alpha: alpha, lora_dropout: dropout = 0, bias = "none" } = json;
  if (typeof rank !== "number" || !Number.isInteger(rank) || rank < 1 || typeof alpha !== "number" || !(alpha > 0)) {
    throw new LabError("bad-input", `${CONFIG} has no usable r and lora_alpha`, { subject: "r" });
  }
  const plain = bias === "none" && json.use_dora !== true && json.fan_in_fan_out !== true;
  const perLayer = [json.rank_pattern, json.alpha_pattern].some((map) => isRecord(map) && Object.keys(map).length > 0);
  if (!plain || perLayer) {
    throw new LabError(
      "unsupported",
      `${CONFIG} uses bias, DoRA, fan_in_fan_out or ranks per layer; only plain LoRA of one rank can be loaded`,
      { subject: CONFIG },
    );
  }
  const scale = json.use_rslora === true ? alpha / Math.sqrt(rank) : alpha / rank;
  return { rank, alpha, dropout: typeof dropout === "number" ? dropout : 0, scale };
}

/**
 * The two files of an adapter, by path.
 * @param tensors low-rank factors only; anything else belongs to another file
 * @param baseModel what `base_model_name_or_path` says, for readers
 */
export function writeAdapter(
  config: LanguageConfig,
  settings: AdapterSettings,
  tensors: Iterable<HostTensor>,
  baseModel: string,
): Readonly<Record<typeof CONFIG | typeof MODEL, Uint8Array<ArrayBuffer>>> {
  const targets = new Set(languageLinears(config).map(({ path }) => path.slice(path.lastIndexOf(".") + 1)));
  const json = {
    peft_type: "LORA",
    task_type: "CAUSAL_LM",
    base_model_name_or_path: baseModel,
    revision: null,
    r: settings.rank,
    lora_alpha: settings.alpha,
    lora_dropout: settings.dropout,
    bias: "none",
    target_modules: [...targets],
    modules_to_save: null,
    fan_in_fan_out: false,
    use_rslora: false,
    use_dora: false,
    inference_mode: true,
  };
  const entries = [...tensors].map(({ name, shape, values }) => ({ name: toPeftName(name), shape, data: values }));
  return {
    [CONFIG]: new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`),
    [MODEL]: writeSafetensors(entries, { format: "pt" }),
  };
}
