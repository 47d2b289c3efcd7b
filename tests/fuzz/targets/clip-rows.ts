/** Rows with a list of frames and one mask per frame, in Arrow and JSON Lines, read to the pixels of some frames. */
import fc from "fast-check";
import { type ShardRow, writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { decodeSample, frameOf, visibleFrames } from "../../../src/engine/data/film-strip.ts";
import { decodeRle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { rowSize, withFrames } from "../../../src/engine/data/training-row.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { boxMask, jpg, png, row } from "../../unit/data/make.ts";
import { ARROW_DAMAGE } from "../arrow-stream.ts";
import { casesOf } from "../cases.ts";
import { LINE_DAMAGE } from "../json.ts";
import { checkRegions } from "../regions.ts";
import { check, type Files, type Target } from "../target.ts";

// A frame in another format than the first one, as in sets made from two sources.
const frames: Files = {
  "f/0.png": new Uint8Array(png(32, 24, 0)),
  "f/1.jpg": new Uint8Array(jpg(32, 24)),
  "f/2.png": new Uint8Array(png(32, 24, 180)),
};
const masks = [boxMask(24, 32, 1, 3, 10, 8), null, boxMask(24, 32, 9, 3, 10, 8)];
const stored = Object.entries(frames).map(([path, bytes]) => ({ bytes, path }));
const rows: ShardRow[] = [
  { ...row({ image: null, mask: masks }), frames: stored },
  { ...row({ image: null, mask: [null, masks[2] ?? null], category: null }, "It moves."), frames: stored.slice(1) },
];
const lines = rows.map(({ mask }, at) => {
  const names = Object.keys(frames).slice(at);
  return JSON.stringify({ id: at, frames: names, masks: mask, caption: "A red box.", category: ["box"] });
});

export const clipRows: Target = {
  ...casesOf(
    {
      arrow: { "clips.arrow": writeRegionShard(rows, { layout: "clip", batchRows: 1 }) },
      lines: { ...frames, "clips.jsonl": new TextEncoder().encode(`${lines.join("\n")}\n`) },
    },
    (path) => (path.endsWith(".arrow") ? fc.oneof(ARROW_DAMAGE) : path.endsWith(".jsonl") ? LINE_DAMAGE : undefined),
  ),
  async read(files) {
    const set = await openRegionSet(memoryFolder(files));
    await checkRegions(set);
    let refused: LabError | undefined;
    for (const [at, summary] of set.summaries.entries()) {
      const { frames: total = 1, height, width } = summary;
      const sample = await set.sample(at);
      check((sample.frames?.length ?? 1) === total && height % total === 0, `${total} frames in ${height} lines`);
      const mask = decodeRle(summary.mask);
      const seen = visibleFrames(mask, total);
      try {
        const rgb = await decodeSample(sample, decodeImage);
        check(rgb.height === height && rgb.width === width, `a strip of ${rgb.height} x ${rgb.width}`);
        check(rgb.data.length === 3 * height * width, `${rgb.data.length} bytes of pixels`);
        const part = withFrames({ summary, rgb, mask }, seen);
        check(rowSize(part).view?.frames.length === seen.length, "a view has other frames");
        check(rleArea(part.summary.mask) === rleArea(summary.mask), "a view lost pixels");
        for (const frame of seen) check(frameOf(part.mask, total, frame).includes(1), `frame ${frame} is empty`);
      } catch (thrown) {
        // The index reads headers only, so damaged pixels appear here.
        if (!(thrown instanceof LabError)) throw thrown;
        refused = thrown;
      }
    }
    if (refused !== undefined) throw refused;
    check(set.summaries.length + set.skipped.length + set.ignored.length > 0, "rows were lost without a word");
  },
};
