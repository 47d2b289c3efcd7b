/**
 * Low-rank adapters of the language model: shapes, initial values and names
 * (docs/spec/sa2va.md#18-supervised-training-recipe), and their two files in PEFT's form
 * (docs/spec/formats.md#81-peft-adapter).
 */
import { isRecord, readJson } from "../../bytes/json.ts";
import { type ByteFolder, type ByteSource, subFolder } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { ADAPTER_CONFIG, ADAPTER_MODEL, fromPeftName, toPeftName } from "../../formats/peft-names.ts";
import { openSafetensors } from "../../formats/safetensors.ts";
import type { LanguageConfig } from "../config.ts";
import { languageLinears } from "../language/language-families.ts";

interface AdapterSettings {
  readonly rank: number;
  readonly alpha: number;
  readonly dropout: number;
}

export interface Adapter extends AdapterSettings {
  /** Factor of the branch: alpha / r, or alpha / √r with rank-stabilised scaling. */
  readonly scale: number;
  /** Names as paths of the whole model. */
  readonly tensors: readonly HostTensor[];
}

/**
 * The folder that holds the adapter's two files: the given one, or the only one below it.
 * @throws LabError("bad-input") when there is none or when there are several
 */
export function adapterFolder(folder: ByteFolder): ByteFolder {
  const found = folder.paths.filter((path) => path === ADAPTER_CONFIG || path.endsWith(`/${ADAPTER_CONFIG}`));
  if (found.includes(ADAPTER_CONFIG)) return folder;
  const [only] = found;
  if (only === undefined) throw badInput(`The adapter folder has no ${ADAPTER_CONFIG}`, ADAPTER_CONFIG);
  if (found.length > 1) {
    throw badInput(`The folder holds several adapters (${found.join(", ")}); open one of them`, ADAPTER_CONFIG);
  }
  return subFolder(folder, only.slice(0, -ADAPTER_CONFIG.length));
}

/**
 * Reads an adapter of the language model. Layers it leaves out have no branch.
 * @throws LabError naming the file and the field or tensor that does not fit the model
 */
export async function readAdapter(folder: ByteFolder, config: LanguageConfig): Promise<Adapter> {
  const own = adapterFolder(folder);
  const settings = parseSettings(await readJson(fileOf(own, ADAPTER_CONFIG)));
  const file = await openSafetensors(fileOf(own, ADAPTER_MODEL));
  const known = new Map(loraShapes(config, settings.rank).map(({ name, shape }) => [name, shape] as const));
  const bad = (name: string, why: string): LabError =>
    badInput(`${file.source}: tensor "${name}" ${why}; the adapter was not loaded`, name);
  const tensors: HostTensor[] = [];
  for (const stored of file.names) {
    const { shape: found } = file.info(stored);
    const name = fromPeftName(stored);
    if (name === null) throw bad(stored, "does not begin with base_model.model., as PEFT's do");
    const shape = known.get(name);
    if (shape === undefined || String(shape) !== String(found)) {
      const wanted = shape === undefined ? "the model has no such layer" : `the model needs [${shape.join(", ")}]`;
      throw bad(stored, `is [${found.join(", ")}], ${wanted}`);
    }
    const values = await file.read(stored);
    if (!values.every(Number.isFinite)) throw bad(stored, "holds numbers that are not finite");
    tensors.push({ name, shape, values });
  }
  const names = new Set(tensors.map((tensor) => tensor.name));
  for (const name of names) {
    const partner = name.includes(".lora_A.")
      ? name.replace(".lora_A.", ".lora_B.")
      : name.replace(".lora_B.", ".lora_A.");
    if (!names.has(partner)) throw bad(toPeftName(name), "lacks its other factor");
  }
  if (tensors.length === 0) throw badInput(`${file.source} has no tensor`, file.source);
  return { ...settings, tensors };
}

function fileOf(folder: ByteFolder, path: string): ByteSource {
  const source = folder.get(path);
  if (source === undefined) throw badInput(`The adapter folder has no ${path}`, path);
  return source;
}

/** Initialisations in which PEFT also changes the base model, so that the adapter is not the whole change. */
const CHANGED_BASE = /^(pissa|olora|corda|loftq|lora_ga)/;

/** Whether a value is a number that is positive and finite in single precision. */
const isAlpha = (value: unknown): value is number =>
  typeof value === "number" && Math.fround(value) > 0 && Number.isFinite(Math.fround(value));

function parseSettings(json: unknown): AdapterSettings & { scale: number } {
  if (!isRecord(json) || json.peft_type !== "LORA") {
    throw new LabError("unsupported", `${ADAPTER_CONFIG} describes no LoRA adapter (peft_type)`, {
      subject: "peft_type",
    });
  }
  const { r: rank, lora_alpha: alpha, lora_dropout: dropout = 0, bias = "none" } = json;
  if (typeof rank !== "number" || !Number.isInteger(rank) || rank < 1 || !isAlpha(alpha)) {
    throw badInput(`${ADAPTER_CONFIG} has no usable r and lora_alpha`, "r");
  }
  const kept = !CHANGED_BASE.test(String(json.init_lora_weights));
  const plain = kept && bias === "none" && json.use_dora !== true && json.fan_in_fan_out !== true;
  const perLayer = [json.rank_pattern, json.alpha_pattern].some((map) => isRecord(map) && Object.keys(map).length > 0);
  if (!plain || perLayer) {
    throw new LabError(
      "unsupported",
      `${ADAPTER_CONFIG} uses bias, DoRA, fan_in_fan_out, ranks per layer or an initialisation that changes the base model (PiSSA); only plain LoRA of one rank can be loaded`,
      { subject: ADAPTER_CONFIG },
    );
  }
  const scale = json.use_rslora === true ? alpha / Math.sqrt(rank) : alpha / rank;
  return { rank, alpha, dropout: typeof dropout === "number" ? dropout : 0, scale };
}

/** A tensor in host memory. */
export interface HostTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array<ArrayBuffer>;
}

interface LoraShape {
  /** Full path, e.g. `language_model.model.layers.0.self_attn.q_proj.lora_A.weight`. */
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly factor: "A" | "B";
}

/**
 * A [r, in] and B [out, r] of every linear layer of the language model except the head, in the order of the forward
 * pass.
 */
export function loraShapes(config: LanguageConfig, rank: number): LoraShape[] {
  if (!Number.isInteger(rank) || rank < 1) {
    throw new LabError("bad-config", `The rank of the adapter is ${rank}, it must be a whole number of at least 1`, {
      subject: "lora rank",
    });
  }
  return languageLinears(config).flatMap(({ path, inSize, outSize }): LoraShape[] => [
    { name: `${path}.lora_A.weight`, shape: [rank, inSize], factor: "A" },
    { name: `${path}.lora_B.weight`, shape: [outSize, rank], factor: "B" },
  ]);
}

/**
 * Initial factors as in PEFT: A uniform in ±1/√in, B zero, so that the adapter initially changes nothing. Each is drawn
 * when it is asked for: all of a large model take a gigabyte.
 * @param uniform number in (0, 1) for the n-th tensor of `loraShapes` and an element of it
 */
export function* initLora(
  config: LanguageConfig,
  rank: number,
  uniform: (tensor: number, element: number) => number,
): Generator<HostTensor> {
  for (const [tensor, { name, shape, factor }] of loraShapes(config, rank).entries()) {
    const values = new Float32Array(shape[0] * shape[1]);
    if (factor === "A") {
      const bound = 1 / Math.sqrt(shape[1]);
      for (let at = 0; at < values.length; at++) values[at] = (2 * uniform(tensor, at) - 1) * bound;
    }
    yield { name, shape, values };
  }
}
