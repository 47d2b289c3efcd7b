/** Low-rank adapters of the language model: factors, and their files. */
export { type HostTensor, initLora, type LoraShape, loraShapes } from "./lora-factors.ts";
export { type Adapter, type AdapterSettings, readAdapter, writeAdapter } from "./lora-files.ts";
