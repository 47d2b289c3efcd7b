/** The measurement of the graphics card: lines as they arrive. */
import { create } from "zustand";
import type { CardLine, CardSizes } from "../../engine/self-test/card/card-line.ts";

export interface CardReport {
  /** "stopped": it ended before its last line. */
  readonly state: "never" | "running" | "done" | "stopped";
  readonly sizes: CardSizes;
  readonly lines: readonly CardLine[];
  readonly total: number;
}

export const useCardReport = create<CardReport>()(() => ({ state: "never", sizes: "1B", lines: [], total: 0 }));

export function addCardLine(line: CardLine, total: number): void {
  useCardReport.setState(({ lines }) => ({ lines: [...lines, line], total: Math.max(total, lines.length + 1) }));
}
