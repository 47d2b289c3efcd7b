/** Low-rank adapters of the language model: factors and names, and their files. */
export {
  fromPeftName,
  type HostTensor,
  initLora,
  type LoraShape,
  loraShapes,
  toPeftName,
} from "./lora-factors.ts";
export { type Adapter, type AdapterSettings, readAdapter, writeAdapter } from "./lora-files.ts";
