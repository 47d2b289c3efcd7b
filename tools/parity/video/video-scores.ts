/** J, F and J&F of a video golden set: pairs of masks, and masklets against the truth. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, parseRle } from "../../../src/engine/data/mask/rle.ts";
import { boundaryScore, type FrameMask, regionSimilarity } from "../../../src/plugins/clips/boundary.ts";
import { maskletScore } from "../../../src/plugins/suites/masklet-score.ts";
import { CaseCheck } from "../case-check.ts";
import { goldenJson, number, objects, text } from "../evaluation/golden.ts";
import { openArrays } from "../golden-arrays.ts";
import { jsonFile } from "../golden-model.ts";
import type { ParityRow } from "../row.ts";

const TOLERANCE = 1e-12;

export async function* videoScoresParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const json = await goldenJson(folder, "jf.json");
  if (json === undefined) return;
  for (const pair of objects(json.pairs)) {
    const check = new CaseCheck(`jf.json ${text(pair.name)}`, TOLERANCE);
    yield check.run(() => {
      const [truth, found] = [maskOf(pair.truth), maskOf(pair.prediction)];
      check.close("J", pair.j, regionSimilarity(truth, found));
      const score = boundaryScore(truth, found, number(pair.bound_th));
      check.close("F", pair.f, score.f);
      check.close("precision", pair.precision, score.precision);
      check.close("recall", pair.recall, score.recall);
      check.equal("radius", pair.radius, score.radius);
      check.equal("boundary", pair.boundary_prediction, score.predicted);
      check.equal("boundary", pair.boundary_truth, score.true);
      check.equal("matches", pair.matched_prediction, score.matchedPrediction);
      check.equal("matches", pair.matched_truth, score.matchedTruth);
    });
  }
  const { truth } = await jsonFile(folder, "video.json");
  for (const item of objects(json.sequences)) {
    const masks = await masksOf(folder, text(item.case));
    const check = new CaseCheck(`jf.json ${text(item.case)}.${number(item.object)}`, TOLERANCE);
    yield check.run(() => {
      const object = number(item.object);
      const real = (truth as unknown[][]).map((frame) => maskOf(frame[object]));
      const score = maskletScore(
        masks.frames.map((frame) => real[frame] as FrameMask),
        masks.frames.map((_, at) => masks.mask(at, object)),
      );
      score.frames.forEach((frame, at) => {
        check.close("J", (item.j_frames as number[])[masks.frames[at] as number], frame.j);
        check.close("F", (item.f_frames as number[])[masks.frames[at] as number], frame.f);
      });
      // Only some frames of a long clip are stored.
      if (masks.frames.length < real.length) return;
      check.close("mean J", item.j, score.j);
      check.close("mean F", item.f, score.f);
      check.close("J&F", item.jf, score.jf);
    });
  }
}

function maskOf(value: unknown): FrameMask {
  const rle = parseRle(value);
  return { data: decodeRle(rle), height: rle.size[0], width: rle.size[1] };
}

interface StoredMasks {
  readonly frames: readonly number[];
  /** @param at index of the frame among the stored ones */
  mask(at: number, object: number): FrameMask;
}

async function masksOf(folder: ByteFolder, name: string): Promise<StoredMasks> {
  const arrays = await openArrays(folder, `golden_${name}.safetensors`);
  const all = await arrays.read("masks");
  const [, objectCount, height, width] = arrays.shape("masks") as [number, number, number, number];
  const size = height * width;
  return {
    frames: Array.from(await arrays.read("frames")),
    mask: (at, object) => {
      const first = (at * objectCount + object) * size;
      return { data: all.subarray(first, first + size), height, width };
    },
  };
}
