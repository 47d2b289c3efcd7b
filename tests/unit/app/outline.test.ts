import { describe, expect, it } from "vitest";
import { traceOutlines } from "../../../src/engine/data/mask/outline.ts";

const mask = (...rows: string[]): { data: Uint8Array; width: number; height: number } => ({
  data: Uint8Array.from(rows.join(""), (character) => (character === "#" ? 1 : 0)),
  width: rows[0]?.length ?? 0,
  height: rows.length,
});

/** Even-odd fill of outlines at pixel centres, the rule the canvas uses. */
function fill(outlines: readonly Int32Array[], width: number, height: number): number[] {
  const pixels = Array.from({ length: width * height }, () => 0);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      let crossings = 0;
      for (const points of outlines) {
        for (let at = 0; at < points.length; at += 2) {
          const next = (at + 2) % points.length;
          const [x0, y0, x1, y1] = [points[at], points[at + 1], points[next], points[next + 1]] as [
            number,
            number,
            number,
            number,
          ];
          if (x0 === x1 && x0 > x + 0.5 && Math.min(y0, y1) < y + 0.5 && Math.max(y0, y1) > y + 0.5) crossings++;
        }
      }
      pixels[y * width + x] = crossings % 2;
    }
  }
  return pixels;
}

describe("outlines of a mask", () => {
  it("gives the four corners of a rectangle once", () => {
    const { data, width, height } = mask("....", ".##.", ".##.");
    expect(traceOutlines(data, width, height).map((points) => [...points])).toEqual([[3, 1, 3, 3, 1, 3, 1, 1]]);
  });

  it.each([
    ["hole", mask("#####", "#...#", "#.#.#", "#...#", "#####")],
    ["corners that touch", mask("#.#.", ".#.#", "#.#.")],
    ["edge to edge", mask("###", "###")],
    ["empty", mask("...", "...")],
    ["one pixel", mask("...", ".#.")],
  ])("fills exactly the foreground: %s", (_, { data, width, height }) => {
    expect(fill(traceOutlines(data, width, height), width, height)).toEqual([...data]);
  });

  it("fills exactly the foreground of a scattered mask", () => {
    const [width, height] = [37, 29];
    let state = 7;
    const data = Uint8Array.from({ length: width * height }, () => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return state > 1073741824 ? 1 : 0;
    });
    expect(fill(traceOutlines(data, width, height), width, height)).toEqual([...data]);
  });
});
