/** The tensors of a checkpoint's file. */
import { badInput, quote } from "../../errors.ts";
import { openSafetensors } from "../../formats/safetensors.ts";
import type { RunStore } from "../../storage/store.ts";
import type { TensorData } from "./checkpoint-state.ts";

/**
 * Every tensor of a safetensors file, in file order.
 * @throws LabError("bad-input") naming a damaged file, or a tensor with a value that is not finite
 */
export async function readTensors(store: RunStore, path: string): Promise<Map<string, TensorData>> {
  const file = await openSafetensors(await store.open(path));
  const map = new Map<string, TensorData>();
  for (const name of file.names) {
    const data = await file.read(name);
    if (!data.every(Number.isFinite)) {
      throw badInput(`${path} has values of ${quote(name)} that are not finite; nothing was changed`, path);
    }
    map.set(name, { shape: file.info(name).shape, data });
  }
  return map;
}
