/** Measures the graphics card; lines are shown as they arrive. */
import { create } from "zustand";
import { pluginCalls } from "../../app/clients/lab.ts";
import type { CardCalls } from "./card-calls.ts";
import type { CardLine, CardSizes } from "./card-line.ts";

export interface CardReport {
  /** "stopped": it ended before its last line. */
  readonly state: "never" | "running" | "done" | "stopped";
  readonly sizes: CardSizes;
  readonly lines: readonly CardLine[];
  readonly total: number;
}

export const useCardReport = create<CardReport>()(() => ({ state: "never", sizes: "1B", lines: [], total: 0 }));

function addCardLine(line: CardLine, total: number): void {
  useCardReport.setState(({ lines }) => ({ lines: [...lines, line], total: Math.max(total, lines.length + 1) }));
}

let stop = new AbortController();

/** Measures the graphics card; lines go to the store. @throws LabError("cancelled") after `stopMeasuring` */
export async function measureCard(sizes: CardSizes): Promise<void> {
  stop = new AbortController();
  useCardReport.setState({ state: "running", sizes, lines: [], total: 0 });
  try {
    await pluginCalls<CardCalls>("trainer").measureCard(sizes, addCardLine, stop.signal);
    useCardReport.setState({ state: "done" });
  } catch (thrown) {
    useCardReport.setState({ state: "stopped" });
    throw thrown;
  }
}

/** Ends the measurement after the current line. */
export function stopMeasuring(): void {
  stop.abort();
}
