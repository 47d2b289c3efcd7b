import { changeConfig } from "../stores/session.ts";
import { lab } from "./lab.ts";

/** Sets “GPU memory” to the amount that the GPU can allocate. @throws LabError when the device is in use */
export async function findMemory(): Promise<void> {
  changeConfig({ gpuMemory: await lab().trainer.probeMemory() });
}
