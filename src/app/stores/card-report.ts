/** The measurement of the graphics card: lines as they arrive. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { CardLine, CardSizes } from "../../engine/self-test/card/card-line.ts";

export interface CardReport {
  /** "stopped": it ended before its last line. */
  readonly state: "never" | "running" | "done" | "stopped";
  readonly sizes: CardSizes;
  readonly lines: readonly CardLine[];
  readonly total: number;
}

export const cardReportStore = createStore<CardReport>()(() => ({ state: "never", sizes: "1B", lines: [], total: 0 }));

/** Subscribes to a part of the report. */
export function useCardReport<T>(select: (report: CardReport) => T): T {
  return useStore(cardReportStore, select);
}

export function addCardLine(line: CardLine, total: number): void {
  cardReportStore.setState(({ lines }) => ({ lines: [...lines, line], total: Math.max(total, lines.length + 1) }));
}
