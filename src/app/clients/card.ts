import type { CardSizes } from "../../engine/self-test/card/card-line.ts";
import { addCardLine, useCardReport } from "../stores/card-report.ts";
import { changeConfig } from "../stores/session.ts";
import { lab } from "./lab.ts";

let stop = new AbortController();

/** Measures the graphics card; lines go to the store. @throws LabError("cancelled") after `stopMeasuring` */
export async function measureCard(sizes: CardSizes): Promise<void> {
  stop = new AbortController();
  useCardReport.setState({ state: "running", sizes, lines: [], total: 0 });
  try {
    await lab().trainer.measureCard(sizes, addCardLine, stop.signal);
    useCardReport.setState({ state: "done" });
  } catch (thrown) {
    useCardReport.setState({ state: "stopped" });
    throw thrown;
  }
}

/** Sets “GPU memory” to the amount that the GPU can allocate. @throws LabError when the device is in use */
export async function findMemory(): Promise<void> {
  changeConfig({ gpuMemory: await lab().trainer.probeMemory() });
}

/** Ends the measurement after the current line. */
export function stopMeasuring(): void {
  stop.abort();
}
