/** Measures the graphics card; lines are shown as they arrive. */
import { pluginCalls } from "../../app/clients/lab.ts";
import { jobKind, startJob } from "../../app/stores/jobs.ts";
import type { CardCalls } from "./card-calls.ts";
import type { CardLine, CardSizes } from "./card-line.ts";

export interface CardReport {
  readonly sizes: CardSizes;
  readonly lines: readonly CardLine[];
  readonly total: number;
}

export const CARD = jobKind<CardReport>("measurement of the card");

/** Measures the graphics card; it ends after the current line when it is stopped. @throws LabError("cancelled") then */
export function measureCard(sizes: CardSizes): Promise<void> {
  let lines: readonly CardLine[] = [];
  return startJob(CARD, { sizes, lines, total: 0 }, (signal, show) => {
    const add = (line: CardLine, total: number): void => {
      lines = [...lines, line];
      show({ sizes, lines, total: Math.max(total, lines.length) });
    };
    return pluginCalls<CardCalls>("trainer").measureCard(sizes, add, signal);
  });
}
