import type { CSSProperties } from "react";
import type { LoopId } from "../../../engine/runs/rollouts/records.ts";

/** The colour of a loop's first line in the charts, as a CSS value. */
export function loopColour(loop: LoopId): string {
  const index = loop <= 2 ? loop - 1 : loop + 1;
  return `var(--run-${(index % 6) + 1})`;
}

/** The colour as the CSS variable --loop, for an element and its pseudo-elements. */
export function loopStyle(loop: LoopId): CSSProperties {
  return { "--loop": loopColour(loop) } as CSSProperties;
}
