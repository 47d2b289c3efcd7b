/** Golden SAM2 arrays: trunk, neck, prompt encoder, mask decoder and post-processing, each from its golden input. */
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { linear } from "../../../src/engine/gpu/kernels/linear.ts";
import { inPace } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import { encodeSam, type SamFeatures } from "../../../src/engine/model/sam2/hiera.ts";
import { decodeMasks, selectMask } from "../../../src/engine/model/sam2/mask-decoder.ts";
import { imageLogits, samSizeLogits } from "../../../src/engine/model/sam2/postprocess.ts";
import { densePositions, densePrompt, sparseTokens } from "../../../src/engine/model/sam2/prompt-encoder.ts";
import type { Weights } from "../../../src/engine/model/weights/weights.ts";
import { compareArrays, EXACT, missed, type Tolerance } from "../compare.ts";
import type { GoldenArrays } from "../golden-arrays.ts";
import { type GoldenModel, openGoldenModel, type ParityDeps } from "../golden-model.ts";
import { maskRow } from "../mask-row.ts";
import { objectPointer } from "../object-pointer.ts";
import { Captured } from "../probes.ts";
import type { ParityRow } from "../row.ts";
import { segmentRows } from "./sa2va-segment.ts";

const FILE = "golden_sam2.safetensors";
const _SAM = "grounding_encoder.sam2_model";
const ENCODER: Tolerance = { relative: 1e-4 };
const DECODER: Tolerance = { relative: 5e-4 };

/** Arrays of the file that belong to another check (the language model's greedy steps). */
const ELSEWHERE = ["generated.step_logits"];

/** One row per array of the file, none without the file; an array that is not computed here is a miss. */
export async function* sa2vaSam2Parity(folder: ByteFolder, deps: ParityDeps): AsyncGenerator<ParityRow> {
  if (folder.get(FILE) === undefined) return;
  const model = await openGoldenModel(folder, deps);
  try {
    const golden = await model.arrays(FILE);
    const open = new Set(golden.names.filter((name) => !ELSEWHERE.includes(name)));
    for await (const row of sam2Rows(model, golden)) {
      open.delete(row.case);
      yield row;
    }
    for (const name of open) yield missed(name, "SAM2", "nothing computes this array");
  } finally {
    model.dispose();
  }
}

async function* sam2Rows(model: GoldenModel, golden: GoldenArrays): AsyncGenerator<ParityRow> {
  const captured = new Captured();
  try {
    const features = await encodeGolden(model, captured);
    yield* capturedRows(golden, captured, ENCODER, "image encoder");
    const lang = await languagePrompt(model.weights, golden, captured);
    yield* decoderRows(model, golden, features, lang, captured);
    if (golden.has("seg_hidden")) yield* segmentRows(model, golden, features);
    tf.dispose([features.f16, features.f8, features.f4, lang]);
  } finally {
    captured.dispose();
  }
}

/** SAM2 features of the golden input pixels, with every intermediate array kept in `captured`. */
async function encodeGolden(model: GoldenModel, captured: Captured): Promise<SamFeatures> {
  const stored = await model.arrays("golden_preprocess.safetensors");
  const size = model.config.sam2.imageSize;
  const values = normalisePixels(Uint8Array.from(await stored.read("sam_u8")));
  const pixels = tf.tensor(values, [1, size, size, 3]);
  const features = await inPace(encodeSam(model.weights, model.config.sam2, pixels, captured.probe));
  captured.probe("pix_feat_with_mem", features.f16);
  pixels.dispose();
  return features;
}

async function languagePrompt(w: Weights, golden: GoldenArrays, captured: Captured): Promise<Tensor> {
  const hidden = await golden.tensor("seg_hidden");
  const lang = tf.tidy(() => {
    const layer = (index: number, x: Tensor): Tensor =>
      linear(x, w.get(`text_hidden_fcs.${index}.weight`), w.get(`text_hidden_fcs.${index}.bias`));
    return layer(2, layer(0, hidden).relu());
  });
  hidden.dispose();
  captured.probe("lang_embed", lang);
  return lang;
}

async function* decoderRows(
  model: GoldenModel,
  golden: GoldenArrays,
  features: SamFeatures,
  lang: Tensor,
  captured: Captured,
): AsyncGenerator<ParityRow> {
  const { weights: w } = model;
  const { sam2 } = model.config;
  captured.clear();
  captured.probe("lang_embed", lang);
  const side = features.f16.shape[1] as number;
  const prompts = lang.shape[0] as number;
  tf.tidy(() => {
    captured.probe("dense_pe", densePositions(w, side, side).reshape([1, side, side, -1]));
    captured.probe("sparse_points", sparseTokens(w, lang).slice([0, 0, 0], [prompts, 2, lang.shape[1] as number]));
    captured.probe("dense", densePrompt(w).reshape([1, 1, 1, -1]));
  });
  const { masks, iou, objectScore } = decodeMasks(w, sam2, features, lang, captured.probe);
  const { mask, index } = selectMask(masks, iou);
  const [height, width] = masks.shape.slice(2) as [number, number];
  tf.tidy(() => {
    captured.probe("decoder.masks_all", masks.transpose([0, 2, 3, 1]));
    captured.probe("decoder.iou_all", iou);
    captured.probe("decoder.obj_score", objectScore);
    captured.probe("low_res_multimasks", masks.slice([0, 1, 0, 0], [-1, 3, -1, -1]).transpose([0, 2, 3, 1]));
    captured.probe("ious", iou.slice([0, 1], [-1, 3]));
    captured.probe("low_res_mask", mask.reshape([prompts, height, width, 1]));
    const [shown] = golden.shape("mask_logits_sam_res") as [number];
    const first = mask.slice([0, 0, 0], [shown, height, width]);
    const size = sam2.imageSize;
    captured.probe("mask_logits_sam_res", samSizeLogits(first, size).reshape([shown, size, size, 1]));
  });
  captured.probe("best_idx", index);
  const pointer = await captured.with("decoder.hs", (tokens) => objectPointer(model, tokens, index, objectScore));
  if (pointer !== undefined) captured.probe("obj_ptr", pointer);
  yield* capturedRows(golden, captured, DECODER, "mask decoder");

  const expected = await golden.read("final_logits");
  const [count, rows, cols] = golden.shape("final_logits") as [number, number, number];
  const final = tf.tidy(() => imageLogits(mask.slice([0, 0, 0], [count, height, width]), sam2.imageSize, rows, cols));
  const logits = (await final.data()) as Float32Array;
  yield compareArrays("final_logits", "logits at image size", expected, logits, DECODER);
  yield maskRow("final_mask", await golden.read("final_mask"), expected, logits);
  tf.dispose([masks, iou, objectScore, mask, index, final]);
  pointer?.dispose();
}

/**
 * A row per captured array that the golden file holds; except for the trunk's, its four-dimensional arrays are NCHW.
 */
async function* capturedRows(
  golden: GoldenArrays,
  captured: Captured,
  tolerance: Tolerance,
  what: string,
): AsyncGenerator<ParityRow> {
  for (const name of captured.names) {
    if (!golden.has(name)) continue;
    const expected = await golden.read(name);
    const exact = name === "best_idx";
    const turn = golden.shape(name).length === 4 && !name.startsWith("hiera.");
    const values = repeated(await captured.read(name, turn), expected.length);
    yield compareArrays(name, what, expected, values, exact ? EXACT : tolerance);
  }
}

/** Values shared by all prompts are stored once here, but may be repeated per prompt in a golden file. */
function repeated(values: Float32Array, length: number): Float32Array {
  if (values.length === 0 || values.length >= length || length % values.length !== 0) return values;
  return Float32Array.from({ length }, (_, at) => values[at % values.length] as number);
}
