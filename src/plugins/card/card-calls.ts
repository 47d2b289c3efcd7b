/** Measures the adapter on the trainer's device. */
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import type { CardLine, CardSizes } from "./card-line.ts";
import { countCardLines, measureCard } from "./measure.ts";

export const cardCalls = (place: () => Promise<TrainerPlace>) => ({
  /** Measures the adapter. @throws LabError when the device is in use, LabError("cancelled") when the signal aborts */
  async measureCard(
    sizes: CardSizes,
    onLine: (line: CardLine, total: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { lab } = await place();
    await lab.whileIdle("card", async () => {
      const { device } = lab;
      const total = countCardLines(sizes);
      for await (const line of measureCard({ device, sizes, now: () => performance.now(), signal }))
        onLine(line, total);
    });
  },
});

export type CardCalls = CallsOf<typeof cardCalls>;
