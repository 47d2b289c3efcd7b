/**
 * An adapter folder to start a run from or to try out: PEFT's two files and `modules.safetensors` with the other
 * trained tensors under their published names (docs/spec/formats.md#10-handing-a-run-over-to-a-larger-engine).
 */
import { sha256Hex } from "../../bytes/hash.ts";
import type { ByteFolder } from "../../bytes/source.ts";
import { badInput, type LabError } from "../../errors.ts";
import { ADAPTER_CONFIG, ADAPTER_MODEL, MODULES_FILE } from "../../formats/peft-names.ts";
import { openSafetensors } from "../../formats/safetensors.ts";
import type { LanguageConfig } from "../config.ts";
import { publishedMatrix, type Sa2vaModel } from "../sa2va.ts";
import { adapterFolder, type HostTensor, readAdapter } from "./lora.ts";
import { trainableBlock } from "./trainable.ts";

export interface StartAdapter {
  readonly name: string;
  /** SHA-256 of its files. */
  readonly hash: string;
  readonly rank: number;
  /** Factor of the low-rank branch. */
  readonly scale: number;
  /** Low-rank factors and module tensors by full path. */
  readonly tensors: ReadonlyMap<string, HostTensor>;
  /** Number of tensors that are not low-rank factors. */
  readonly modules: number;
  /** The files, to be stored with a run that starts from them. */
  readonly files: Readonly<Record<string, Uint8Array<ArrayBuffer>>>;
}

/** The source of the required shapes: sizes of the language model and the published trainable tensors. */
interface AdapterTarget {
  readonly language: LanguageConfig;
  readonly base: Pick<ReadonlyMap<string, { readonly shape: readonly number[] }>, "get">;
}

/** A loaded model as the target of adapters. */
export function adapterTarget(model: Pick<Sa2vaModel, "config" | "base" | "frozen">): AdapterTarget {
  const get = (name: string) => (trainableBlock(name) === undefined ? undefined : publishedMatrix(model, name));
  return { language: model.config.language, base: { get } };
}

/** Reads and checks the whole adapter before anything is changed. @throws LabError naming file and tensor */
export async function readStartAdapter(folder: ByteFolder, target: AdapterTarget, name: string): Promise<StartAdapter> {
  const own = adapterFolder(folder);
  const adapter = await readAdapter(own, target.language);
  const modules = await readModules(own, target.base);
  const files: Record<string, Uint8Array<ArrayBuffer>> = {};
  const digests: string[] = [];
  for (const path of [ADAPTER_CONFIG, ADAPTER_MODEL, MODULES_FILE]) {
    const source = own.get(path);
    if (source === undefined) continue;
    const bytes = await source.read(0, source.size);
    files[path] = bytes;
    digests.push(`${path} ${await sha256Hex(bytes)}`);
  }
  return {
    name,
    hash: await sha256Hex(new TextEncoder().encode(digests.join("\n"))),
    rank: adapter.rank,
    scale: adapter.scale,
    tensors: new Map([...adapter.tensors, ...modules].map((tensor) => [tensor.name, tensor])),
    modules: modules.length,
    files,
  };
}

async function readModules(folder: ByteFolder, base: AdapterTarget["base"]): Promise<HostTensor[]> {
  const source = folder.get(MODULES_FILE);
  if (source === undefined) return [];
  const file = await openSafetensors(source);
  const tensors: HostTensor[] = [];
  for (const name of file.names) {
    const shape = base.get(name)?.shape;
    const found = file.info(name).shape;
    const bad = (why: string): LabError =>
      badInput(`${source.name}: tensor "${name}" ${why}; the adapter was not loaded`, name);
    if (shape === undefined) throw bad("is not one that training changes in this model");
    if (String(shape) !== String(found)) throw bad(`is [${found.join(", ")}], the model needs [${shape.join(", ")}]`);
    const values = await file.read(name);
    if (!values.every(Number.isFinite)) throw bad("holds numbers that are not finite");
    tensors.push({ name, shape, values });
  }
  return tensors;
}
