/** Clips of a video golden set: masks, scores, pointers, memories and memory attention, frame by frame. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import type { Tensor } from "../../../src/engine/gpu/tf.ts";
import { compareArrays, EXACT, missed, type Tolerance } from "../compare.ts";
import { openArrays } from "../golden-arrays.ts";
import type { ParityRow } from "../row.ts";
import { openVideoGolden, type VideoGolden } from "./video-golden.ts";
import { type ClipRun, runCase, VIDEO_CASES } from "./video-runs.ts";

const FEATURES: Tolerance = { relative: 1e-4 };
const TRACKED: Tolerance = { relative: 1e-3 };
/** Masks must agree where the logit is beyond this share of the frame's largest. */
const MASK_SHARE = 2e-3;
/** Logits of absent objects, which would dominate a comparison relative to the largest. */
const BLANK = -1000;

export async function* videoClipsParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const golden = await openVideoGolden(folder);
  try {
    yield* inputRows(golden);
    for (const name of VIDEO_CASES) {
      if (folder.get(`golden_${name}.safetensors`) !== undefined) yield* caseRows(folder, golden, name);
    }
  } finally {
    golden.dispose();
  }
}

async function* inputRows({ input, maps, firstInput }: VideoGolden): AsyncGenerator<ParityRow> {
  yield compareArrays("input", "SAM2 input on bytes", await input.read("sam_u8.0"), firstInput, EXACT);
  const shown = Array.from(await input.read("feature_frames"));
  const found = await Promise.all(shown.map((frame) => channelsFirst(maps[frame]?.f16 as Tensor)));
  yield compareArrays(
    "input",
    "feature.16",
    await input.read("feature.16"),
    found.flatMap((part) => [...part]),
    FEATURES,
  );
}

async function* caseRows(folder: ByteFolder, golden: VideoGolden, name: string): AsyncGenerator<ParityRow> {
  const arrays = await openArrays(folder, `golden_${name}.safetensors`);
  const run = await runCase(golden, name, Array.from(await arrays.read("frames")));
  for (const array of arrays.names) {
    if (array === "frames" || array === "min_abs_logit") continue;
    const found = run.arrays.get(array);
    const expected = await arrays.read(array);
    if (found === undefined) yield missed(name, array, "nothing computes this array");
    else yield arrayRow(name, array, expected, found, run);
  }
}

function arrayRow(name: string, array: string, expected: Float32Array, found: Float32Array, run: ClipRun): ParityRow {
  if (array === "best_idx" || array.startsWith("given_masks")) {
    return compareArrays(name, array, expected, found, EXACT);
  }
  if (array === "masks") return maskRow(name, expected, found, run);
  if (array !== "low_res_masks") return compareArrays(name, array, expected, found, TRACKED);
  const both = expected.map((value, at) => (value < BLANK && (found[at] as number) < BLANK ? 1 : 0));
  const shown = (values: Float32Array): Float32Array => values.map((value, at) => (both[at] === 1 ? 0 : value));
  return compareArrays(name, array, shown(expected), shown(found), TRACKED);
}

/** Pixels of each frame whose logit is clearly away from 0. */
function maskRow(name: string, expected: Float32Array, found: Float32Array, { logits }: ClipRun): ParityRow {
  const clear = logits.flatMap((frame) => {
    const largest = frame.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return Array.from(frame, (value) => Math.abs(value) > MASK_SHARE * largest);
  });
  const chosen = (mask: Float32Array): Float32Array => mask.map((pixel, at) => (clear[at] === true ? pixel : 0));
  const row = compareArrays(name, "mask pixels", chosen(expected), chosen(found), EXACT);
  return { ...row, tolerance: `exact where the logit is beyond ${MASK_SHARE} of the largest` };
}

/** Values of an NHWC tensor as NCHW. */
export async function channelsFirst(tensor: Tensor): Promise<Float32Array> {
  const turned = tensor.transpose([0, 3, 1, 2]);
  const values = Float32Array.from(await turned.data());
  turned.dispose();
  return values;
}
