import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { shrink } from "../../../tools/pocket/batch.ts";
import { disposeTiny, type TinySft, tinySft } from "../../support/tiny-sft.ts";

let tiny: TinySft;
beforeAll(async () => {
  await tf.setBackend("cpu");
  tiny = await tinySft();
});
afterAll(() => disposeTiny(tiny));

describe("supervised batch", () => {
  it("supervises the caption and its stop token, nothing else", () => {
    const { model, regions } = tiny;
    const { caption } = sftBatch(model, { tiles: 1 }, [regions]);
    caption.labels.forEach((labels, row) => {
      const wanted = labels.filter((_, at) => caption.labelled[row]?.[at] === 1);
      const text = model.tokenizer.encode(`${regions[row]?.caption}<|im_end|>`);
      expect(wanted).toEqual(text);
      // The input behind a supervised label is the token before it.
      const last = caption.labelled[row]?.lastIndexOf(1) as number;
      expect(caption.ids[row]?.[last]).toBe(text.at(-2));
    });
  });

  it("copies the marked cells in order between the region's brackets", () => {
    const { model, regions } = tiny;
    const { caption } = sftBatch(model, { tiles: 1 }, [regions]);
    caption.copies.forEach((copies, row) => {
      const cells = copies.filter((cell) => cell >= 0);
      expect(cells).toEqual([...cells].sort((a, b) => a - b));
      expect(cells.length).toBeGreaterThan(0);
      const first = copies.findIndex((cell) => cell >= 0);
      expect(caption.ids[row]?.[first]).toBe(model.tokenizer.special.imageContext);
      expect(caption.ids[row]?.[first - 1]).toBe(model.tokenizer.encode("<vp>")[0]);
    });
  });

  it("ends every mask row at [SEG] and pads to the wanted length", () => {
    const { model, regions } = tiny;
    const { segment } = sftBatch(model, { tiles: 1 }, [regions, regions], { segmentTokens: 90 });
    expect(segment.ids.map((ids) => ids.length)).toEqual([90, 90, 90, 90]);
    segment.ids.forEach((ids, row) => {
      expect(ids[segment.segAt[row] as number]).toBe(model.tokenizer.special.seg);
    });
  });

  it("refuses rows that do not fit and pictures of unequal regions", () => {
    const { model, regions } = tiny;
    expect(() => sftBatch(model, { tiles: 1 }, [regions], { captionTokens: 5 })).toThrow(/room for 5/);
    expect(() => sftBatch(model, { tiles: 1 }, [regions, regions.slice(1)])).toThrow(/the same number of regions/);
  });

  it("shrinks a mask by exact area, sizes that do not divide included", () => {
    expect(Array.from(shrink(new Uint8Array(9).fill(1), 3, 3, 2))).toEqual(
      [1, 1, 1, 1].map((v) => expect.closeTo(v, 6)),
    );
    const half = Uint8Array.from([1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    expect(Array.from(shrink(half, 4, 4, 2))).toEqual([1, 0, 0, 0]);
    const sum = shrink(half, 4, 4, 3).reduce((total, value) => total + value, 0);
    expect(sum / 9).toBeCloseTo(4 / 16, 6);
  });
});
