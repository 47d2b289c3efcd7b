/** A trained pocket model as the start of one with finer visual tokens, in the world where extent matters. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeGrownPocket } from "../../../scripts/lib/build/write-pocket.ts";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { tensorsOf } from "../../../src/engine/model/weights/weights.ts";
import { sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { overlappingPicture } from "../../../tools/pocket/world/samples.ts";
import { shapeOf } from "../../../tools/pocket/worlds.ts";
import { expectSameBits } from "../../support/same-bits.ts";

const POCKET = "public/pocket/model";
const out = mkdtempSync(join(tmpdir(), "finer-"));
let [before, after]: Sa2vaModel[] = [];
beforeAll(async () => {
  await tf.setBackend("cpu");
  await writeGrownPocket(out, POCKET, { grid: 14 });
  before = await openSa2va(await nodeFolder(POCKET), "pocket");
  after = await openSa2va(await nodeFolder(out), "pocket");
});
afterAll(() => {
  before?.dispose();
  after?.dispose();
  rmSync(out, { recursive: true });
});

it("keeps every tensor but the positions, which are resized", async () => {
  const [old, finer] = [before, after] as [Sa2vaModel, Sa2vaModel];
  expect(finer.config.tokenGridSide).toBe(14);
  const grown = new Map<string, Tensor>([...tensorsOf(finer.frozen), ...finer.base]);
  for (const [name, tensor] of [...tensorsOf(old.frozen), ...old.base]) {
    const now = grown.get(name) as Tensor;
    if (!name.endsWith(".position_embedding")) {
      expectSameBits(await now.data(), await (tensor as Tensor).data(), name);
      continue;
    }
    const width = tensor.shape[2] as number;
    expect(now.shape).toEqual([1, 1 + 28 * 28, width]);
    const [was, is] = [await (tensor as Tensor).data(), await now.data()];
    expectSameBits(is.slice(0, width), was.slice(0, width), "the class token's row");
    // The middle of an old patch lies between four new ones, whose mean is near the old value.
    const mean = (row: number, column: number, channel: number): number =>
      [0, 1]
        .flatMap((down) =>
          [0, 1].map((right) => is[(1 + (2 * row + down) * 28 + 2 * column + right) * width + channel] as number),
        )
        .reduce((sum, value) => sum + value / 4, 0);
    let [off, size] = [0, 0];
    for (let row = 0; row < 14; row++) {
      for (let column = 0; column < 14; column++) {
        for (let channel = 0; channel < width; channel++) {
          const value = was[(1 + row * 14 + column) * width + channel] as number;
          off += (mean(row, column, channel) - value) ** 2;
          size += value ** 2;
        }
      }
    }
    expect(off / size).toBeLessThan(0.02);
  }
});

it("has room for the prompts of overlapping regions", () => {
  const model = after as Sa2vaModel;
  for (let index = 0; index < 200; index++) {
    const { regions } = overlappingPicture(7, index, 64);
    const { caption, segment } = sftBatch(model, { tiles: 1 }, [regions], shapeOf("extent", 14));
    expect([caption.length, segment.length]).toEqual([128, 40]);
  }
});
