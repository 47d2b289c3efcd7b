/** What is drawn over the lines of a plot: levels, the step of the time line, notes, values that are not numbers. */
import uPlot from "uplot";
import type { FoundSeries, Level } from "../chart-spec.ts";
import { type Layers, pixelOf } from "./plot-feed.ts";

/** Thin horizontal lines at the visible levels. */
export function drawLevels(plot: uPlot, levels: readonly Level[], colour: string): void {
  const { left, top, width, height } = plot.bbox;
  for (const { value } of levels) {
    const y = Math.round(plot.valToPos(value, "y", true));
    if (y >= top && y <= top + height) drawLine(plot, [left, y], [left + width, y], colour);
  }
}

/** A thin vertical line at a visible step. */
export function drawMark(plot: uPlot, step: number | null, colour: string): void {
  const x = step === null ? null : pixelOf(plot, step);
  const { top, height } = plot.bbox;
  if (x !== null) drawLine(plot, [x, top], [x, top + height], colour);
}

/** A pole with a small flag at each visible step that has a note. */
export function drawFlags(plot: uPlot, steps: readonly number[], colour: string): void {
  const { top, height } = plot.bbox;
  const size = 6 * uPlot.pxRatio;
  for (const step of steps) {
    const x = pixelOf(plot, step);
    if (x === null) continue;
    drawLine(plot, [x, top], [x, top + height], colour);
    const { ctx } = plot;
    ctx.beginPath();
    ctx.moveTo(x, top);
    ctx.lineTo(x + 1.5 * size, top + size / 2);
    ctx.lineTo(x, top + size);
    ctx.closePath();
    ctx.fillStyle = colour;
    ctx.fill();
  }
}

type Point = readonly [x: number, y: number];

function drawLine({ ctx }: uPlot, from: Point, to: Point, colour: string): void {
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
  ctx.restore();
}

/** A small triangle at the last finite value before each value that is not a number. */
export function drawNonFinite(
  plot: uPlot,
  found: readonly FoundSeries[],
  colours: readonly string[],
  { each }: Layers,
): void {
  const { ctx } = plot;
  const size = 4 * uPlot.pxRatio;
  found.forEach(({ spec }, index) => {
    const line = plot.data[(index + 1) * each];
    if (line === undefined) return;
    let last: number | null = null;
    for (let at = 0; at < line.length; at++) {
      const value = line[at];
      if (value !== null && value !== undefined) {
        last = value;
        continue;
      }
      if (last === null || value === undefined) continue;
      const x = plot.valToPos(plot.data[0][at] as number, "x", true);
      const y = plot.valToPos(last, spec.right === true ? "right" : "y", true);
      ctx.beginPath();
      ctx.moveTo(x, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.lineTo(x - size, y + size);
      ctx.closePath();
      ctx.fillStyle = colours[spec.colour % colours.length] as string;
      ctx.fill();
    }
  });
}
