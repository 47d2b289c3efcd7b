/** Forward passes of a packed model against stock operations on the same weights, part by part. */
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import type { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import type { WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { atOnce } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { internVit } from "../../src/engine/model/families/internvl/config.ts";
import {
  embedTokens,
  languageForward,
  languageLogits,
  packedScores,
} from "../../src/engine/model/language/language.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { hiera } from "../../src/engine/model/sam2/hiera.ts";
import { visionTower } from "../../src/engine/model/vision.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { matrixRows } from "../../src/engine/model/weights/linear-layer.ts";
import { type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";

export interface CompareRow {
  readonly part: string;
  readonly shape: readonly number[];
  readonly seconds: number;
  readonly maxRel: number;
  readonly pass: boolean;
}

/** Differences between our sums and stock sums grow with depth; both are f32 over the same weights. */
const TOLERANCE = 2e-4;
const HEAD = "language_model.lm_head.weight";
const EMBEDDING = "language_model.model.embed_tokens.weight";

function noise(shape: readonly number[], seed: number): Tensor {
  return tf.randomNormal([...shape], 0, 1, "float32", seed);
}

async function values(tensor: Tensor): Promise<Float32Array> {
  const array = (await tensor.data()) as Float32Array;
  tensor.dispose();
  return array;
}

function worst(found: ArrayLike<number>, expected: ArrayLike<number>): number {
  let [error, size] = [0, 1e-30];
  for (let at = 0; at < expected.length; at++) {
    const miss = Math.abs((found[at] as number) - (expected[at] as number));
    error = Number.isNaN(miss) ? Number.POSITIVE_INFINITY : Math.max(error, miss);
    size = Math.max(size, Math.abs(expected[at] as number));
  }
  return error / size;
}

/** `run` with our programs and with stock operations. */
async function both(part: string, run: () => Tensor): Promise<CompareRow> {
  const start = performance.now();
  const own = tf.tidy(run);
  const { shape } = own;
  const found = await values(own);
  const seconds = (performance.now() - start) / 1000;
  switchCustomKernels(false);
  let expected: Float32Array;
  try {
    expected = await values(tf.tidy(run));
  } finally {
    switchCustomKernels(true);
  }
  const maxRel = worst(found, expected);
  return { part, shape, seconds, maxRel, pass: maxRel <= TOLERANCE };
}

/** @param folder the model folder, for weights as they were stored */
export async function* compareForward(
  model: Sa2vaModel,
  folder: ByteFolder,
  storage: WeightStorage,
): AsyncGenerator<CompareRow> {
  const { language, sam2 } = model.config;
  const vision = internVit(model.config);
  const w = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const total = language.vocabSize;
  // First, last and between: every block of the split embedding is asked for.
  const ids = Array.from({ length: 12 }, (_, at) => Math.floor((at * (total - 1)) / 11));
  if (storage === "f16") yield await embeddingRow(w, model, folder, ids);
  const idTensor = (): Tensor => tf.tensor2d([ids], [1, ids.length], "int32");
  yield await both(
    `language model, all ${language.layers} layers, 12 tokens`,
    () => languageForward(w, language, embedTokens(w, language, idTensor())).hidden,
  );
  yield await headRow(w, model, ids);
  const side = vision.imageSize;
  yield await both(`vision tower, 1 layer, a tile of ${side} pixels`, () =>
    atOnce(visionTower(w, { ...vision, layers: 1, selectLayer: -1 }, noise([1, side, side, 3], 1))),
  );
  const low = 4 * vision.patchSize;
  yield await both(`vision tower, all ${vision.layers} layers, ${low} pixels`, () =>
    atOnce(visionTower(w, vision, noise([1, low, low, 3], 2))),
  );
  const picture = 128;
  yield await both(
    `Hiera, all ${sam2.stages.reduce((sum, depth) => sum + depth, 0)} blocks, ${picture} pixels`,
    () => atOnce(hiera(w, { ...sam2, imageSize: picture }, noise([1, picture, picture, 3], 3)))[3] as Tensor,
  );
}

/** Rows of a bfloat16 embedding in f16 storage: nothing may be lost. */
async function embeddingRow(
  w: Weights,
  model: Sa2vaModel,
  folder: ByteFolder,
  ids: readonly number[],
): Promise<CompareRow> {
  const start = performance.now();
  const width = model.config.language.hiddenSize;
  const found = await values(
    tf.tidy(() => embedTokens(w, model.config.language, tf.tensor2d([...ids], [1, ids.length], "int32"))),
  );
  const file = (await openCheckpoint(folder)).holder(EMBEDDING);
  const rowBytes = file.info(EMBEDDING).bytes / model.config.language.vocabSize;
  let maxRel = 0;
  for (const [at, id] of ids.entries()) {
    const expected = await file.readRange(EMBEDDING, id * rowBytes, (id + 1) * rowBytes);
    maxRel = Math.max(maxRel, worst(found.subarray(at * width, (at + 1) * width), expected));
  }
  const seconds = (performance.now() - start) / 1000;
  return { part: "embedding rows against the file", shape: [ids.length, width], seconds, maxRel, pass: maxRel === 0 };
}

/** Logits of two places at sampled words and their chosen log-probability, against sums in double precision. */
async function headRow(w: Weights, model: Sa2vaModel, ids: readonly number[]): Promise<CompareRow> {
  const start = performance.now();
  const { vocabSize: total, hiddenSize: width } = model.config.language;
  const states = noise([2, width], 9);
  const logits = await values(tf.tidy(() => languageLogits(w, states)));
  const chosen = tf.tensor1d([ids[5] as number, ids[11] as number], "int32");
  const scores = packedScores(w.matrix(HEAD) as PackedMatrix, states, chosen, 1, Number.POSITIVE_INFINITY, 4 * total);
  const logp = await values(scores.logp);
  scores.entropy.dispose();
  const x = (await states.data()) as Float32Array;
  const head = w.matrix(HEAD);
  const rows = await values(tf.tidy(() => matrixRows(head, tf.tensor1d([...ids], "int32"))));
  const found: number[] = [];
  const expected: number[] = [];
  for (let place = 0; place < 2; place++) {
    for (const [at, id] of ids.entries()) {
      let sum = 0;
      for (let k = 0; k < width; k++) sum += (x[place * width + k] as number) * (rows[at * width + k] as number);
      found.push(logits[place * total + id] as number);
      expected.push(sum);
    }
    const own = logits.subarray(place * total, (place + 1) * total);
    const top = own.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY);
    const partition = own.reduce((sum, value) => sum + Math.exp(value - top), 0);
    found.push(logp[place] as number);
    expected.push((own[ids[place === 0 ? 5 : 11] as number] as number) - top - Math.log(partition));
  }
  tf.dispose([states, chosen]);
  const maxRel = worst(found, expected);
  const seconds = (performance.now() - start) / 1000;
  return {
    part: "head, sampled words and chosen log-probability",
    shape: [2, total],
    seconds,
    maxRel,
    pass: maxRel <= TOLERANCE,
  };
}
