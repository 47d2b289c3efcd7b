import { expect, test } from "vitest";
import { decodeRle, rleFromPolygons } from "../../../src/engine/data/mask/rle.ts";
import { maskPolygons } from "../../../src/plugins/handover/polygons.ts";

/** A repeatable mask whose density and blockiness vary with the seed. */
function mask(seed: number, width: number, height: number): Uint8Array {
  let state = seed * 2654435761 + 1;
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const cell = 1 + (seed % 4);
  const across = Math.ceil(width / cell);
  const cells = Array.from({ length: across * Math.ceil(height / cell) }, () =>
    next() < 0.2 + (seed % 7) / 10 ? 1 : 0,
  );
  return Uint8Array.from({ length: width * height }, (_, at) => {
    const [x, y] = [at % width, Math.floor(at / width)];
    return cells[Math.floor(y / cell) * across + Math.floor(x / cell)] as number;
  });
}

test("polygons of a mask, holes and touching corners included, are read back as that mask", () => {
  let holes = 0;
  for (let seed = 1; seed <= 60; seed++) {
    const [width, height] = [5 + (seed % 23), 4 + ((seed * 7) % 19)];
    const pixels = mask(seed, width, height);
    if (!pixels.includes(1)) continue;
    const polygons = maskPolygons(pixels, width, height);
    expect(polygons.every((points) => points.length >= 8 && points.length % 2 === 0)).toBe(true);
    expect(Array.from(decodeRle(rleFromPolygons(polygons, height, width))), `seed ${seed}`).toEqual(Array.from(pixels));
    if (polygons.some((points) => points.some((value, at) => at % 2 === 0 && value > 0 && value < width))) holes++;
  }
  expect(holes).toBeGreaterThan(20);
});

test("a ring is cut in two, a disc is not", () => {
  const ring = Uint8Array.from("111101111".split(""), Number);
  expect(maskPolygons(ring, 3, 3)).toHaveLength(2);
  expect(maskPolygons(new Uint8Array(9).fill(1), 3, 3)).toEqual([[3, 0, 3, 3, 0, 3, 0, 0]]);
});
