/** Golden training step: token loss plus mask loss, every gradient, point-sampled loss, one AdamW and one EMA update. */

import { isRecord } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle } from "../../../src/engine/data/mask/rle.ts";
import { tokenScores } from "../../../src/engine/gpu/kernels/logprob.ts";
import { inPace } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { languageForward, languageLogits } from "../../../src/engine/model/language/language.ts";
import { maskLoss } from "../../../src/engine/model/mask-loss.ts";
import { nearestMask } from "../../../src/engine/model/preprocess/region-grid.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import { encodeSam, type SamFeatures } from "../../../src/engine/model/sam2/hiera.ts";
import { decodeMasks, selectMask } from "../../../src/engine/model/sam2/mask-decoder.ts";
import { languagePrompt } from "../../../src/engine/model/seg-prompt.ts";
import { type ParameterSet, type Weights, weightsView } from "../../../src/engine/model/weights/weights.ts";
import { AdamState, applyAdamw } from "../../../src/engine/rl/optim/optimiser.ts";
import { clipFactor } from "../../../src/engine/rl/optim/training-state.ts";
import { pointMaskLoss, samplePoints, selectPoints } from "../../../src/plugins/supervised/point-loss.ts";
import { compareArrays, EXACT, missed, type Tolerance } from "../compare.ts";
import type { GoldenArrays } from "../golden-arrays.ts";
import { disposeLanguageGolden, openLanguageGolden, parameterPath } from "../golden-language.ts";
import { type GoldenModel, openGoldenModel, type ParityDeps } from "../golden-model.ts";
import { globalNorm, scaleGradients, updateEma } from "../optim-sets.ts";
import { Captured } from "../probes.ts";
import type { ParityRow } from "../row.ts";
import { type GoldenCase, segmentedCase } from "./sa2va-cases.ts";
import { embedCase, type LanguageGolden } from "./sa2va-llm-run.ts";
import { goldenRegions, PREPROCESS_FILE } from "./sa2va-preprocess.ts";

const FILE = "golden_train_seg.safetensors";
const LANGUAGE: Tolerance = { relative: 2e-4 };
const DECODER: Tolerance = { relative: 5e-4 };
const GRADIENT = { relative: 1e-3, absolute: 2e-6 } as const satisfies Tolerance;
/** Rounding of a gradient that is 0 in exact arithmetic, such as that of a key's bias, relative to the norm of all gradients. */
const ROUNDING = 1e-6;
const AVERAGE: Tolerance = { relative: 5e-7 };
/** Weights of the mask losses in the golden total. */
const BCE_WEIGHT = 2;
const DICE_WEIGHT = 0.5;

/** What stays fixed during the step. */
interface FrozenInputs {
  readonly golden: GoldenArrays;
  readonly language: LanguageGolden;
  readonly example: GoldenCase;
  readonly sam: SamFeatures;
  readonly advantages: Tensor;
  /** Target masks at the low resolution [N, h, w]. */
  readonly truth: Tensor;
}

/** A row per number and array of the training file; none when the folder has no such file. */
export async function* sa2vaTrainParity(folder: ByteFolder, deps: ParityDeps): AsyncGenerator<ParityRow> {
  if (folder.get(FILE) === undefined) return;
  const model = await openGoldenModel(folder, deps);
  const language = await openLanguageGolden(model);
  const captured = new Captured();
  const inputs = await frozenInputs(model, language);
  const parameters = trainableSet(model, inputs.golden, language.adapter);
  const settings = record(inputs.language.cases.train.seg);
  try {
    const step = await segmentationStep(model, inputs, parameters, language.scale, captured);
    yield* lossRows(settings, inputs, step, captured);
    yield* gradientRows(inputs.golden, settings, step.gradients);
    yield* pointRows(inputs, settings);
    yield* updateRows(inputs, parameters, step.gradients);
    tf.dispose([...Object.values(step.gradients)]);
  } finally {
    captured.dispose();
    tf.dispose([...Object.values(parameters), ...Object.values(inputs.sam)]);
    disposeLanguageGolden(language);
    tf.dispose([inputs.advantages, inputs.truth]);
    model.dispose();
  }
}

async function frozenInputs(model: GoldenModel, language: LanguageGolden): Promise<FrozenInputs> {
  const golden = await model.arrays(FILE);
  const example = segmentedCase(language.cases.cases);
  if (example === undefined) throw new Error("cases.json has no case with a [SEG] in its answer");
  const size = model.config.sam2.imageSize;
  const bytes = Uint8Array.from(await (await model.arrays(PREPROCESS_FILE)).read("sam_u8"));
  const pixels = tf.tensor(normalisePixels(bytes), [1, size, size, 3]);
  const sam = await inPace(encodeSam(model.weights, model.config.sam2, pixels));
  pixels.dispose();
  const [height, width] = sam.f4.shape.slice(1) as [number, number];
  const targets = goldenRegions(model)
    .slice(0, example.segPositions.length)
    .map((rle) => Float32Array.from(nearestMask(decodeRle(rle), ...rle.size, height, width)));
  return {
    golden,
    language,
    example,
    sam,
    advantages: await golden.tensor("advantages"),
    truth: tf.tidy(() => tf.stack(targets.map((target) => tf.tensor2d(target, [height, width])))),
  };
}

/** Every tensor that has a golden gradient; owned by the caller. */
function trainableSet(
  model: GoldenModel,
  golden: GoldenArrays,
  factors: Readonly<Record<string, Tensor>>,
): Record<string, Tensor> {
  const set: Record<string, Tensor> = {};
  for (const [path, tensor] of Object.entries(factors)) set[path] = tensor.clone();
  for (const name of golden.names) {
    const path = parameterPath(name.replace(/^grad\./, ""));
    if (name.startsWith("grad.") && set[path] === undefined) set[path] = model.weights.get(path).clone();
  }
  return set;
}

interface Step {
  readonly loss: number;
  readonly gradients: Readonly<Record<string, Tensor>>;
}

/** Forward and backward of L = −mean(advantage · log p) + 2 BCE + 0.5 Dice. */
async function segmentationStep(
  model: GoldenModel,
  inputs: FrozenInputs,
  parameters: ParameterSet,
  loraScale: number,
  captured: Captured,
): Promise<Step> {
  const names = Object.keys(parameters);
  const { value, grads } = tf.engine().gradients(
    () => segmentationLoss(model, inputs, weightsView(model.frozen, parameters, loraScale, model.arithmetic), captured),
    names.map((name) => parameters[name] as Tensor),
    undefined,
    true,
  );
  const gradients: Record<string, Tensor> = {};
  names.forEach((name, at) => {
    // The tape gives nothing for a tensor that the loss does not reach.
    const gradient = grads[at] as Tensor | null | undefined;
    if (gradient !== null && gradient !== undefined) gradients[name] = gradient;
  });
  const [loss = Number.NaN] = await value.data();
  value.dispose();
  return { loss, gradients };
}

function segmentationLoss(model: GoldenModel, inputs: FrozenInputs, w: Weights, captured: Captured): tf.Scalar {
  const { config } = model;
  const { promptIds, answerIds, segPositions } = inputs.example;
  const ids = [...promptIds, ...answerIds];
  const embedded = embedCase(inputs.language, w, inputs.example, ids);
  const { hidden } = languageForward(w, config.language, embedded);
  const rows = hidden.reshape([ids.length, -1]);
  const width = rows.shape[1] as number;
  const logits = languageLogits(w, rows.slice([promptIds.length - 1, 0], [answerIds.length, width]));
  const { logp } = tokenScores(logits, tf.tensor1d([...answerIds], "int32"), 1, Number.POSITIVE_INFINITY);
  captured.probe("answer_logprobs", logp);
  const policy = inputs.advantages.mul(logp).mean().neg();

  const segRows = tf.concat(segPositions.map((at) => rows.slice([at, 0], [1, width])));
  const lang = languagePrompt(w, segRows);
  captured.probe("lang_embed", lang);
  const decoded = decodeMasks(w, config.sam2, inputs.sam, lang);
  const { mask } = selectMask(decoded.masks, decoded.iou);
  captured.probe("low_res_mask", mask);
  captured.probe("ious", decoded.iou.slice([0, 1], [-1, 3]));
  const { bce, dice } = maskLoss(mask, inputs.truth);
  captured.probe("parts", tf.stack([policy, bce, dice]));
  return policy.add(bce.mul(BCE_WEIGHT)).add(dice.mul(DICE_WEIGHT)).asScalar();
}

async function* lossRows(
  settings: Json,
  inputs: FrozenInputs,
  step: Step,
  captured: Captured,
): AsyncGenerator<ParityRow> {
  const [policy, bce, dice] = await captured.read("parts", false);
  const numbers = { loss: step.loss, policy_loss: policy, bce, dice };
  for (const [name, got] of Object.entries(numbers)) {
    yield compareArrays(`train.seg.${name}`, "loss", [Number(settings[name])], [got as number], DECODER);
  }
  const { golden } = inputs;
  const truth = await inputs.truth.data();
  yield compareArrays("gt_low_res", "target masks", await golden.read("gt_low_res"), truth, EXACT);
  for (const name of ["answer_logprobs", "lang_embed", "low_res_mask", "ious"]) {
    const tolerance = name === "answer_logprobs" || name === "lang_embed" ? LANGUAGE : DECODER;
    yield compareArrays(name, "training forward", await golden.read(name), await captured.read(name, false), tolerance);
  }
}

async function* gradientRows(
  golden: GoldenArrays,
  settings: Json,
  gradients: Readonly<Record<string, Tensor>>,
): AsyncGenerator<ParityRow> {
  const zero = new Set((settings.zero_gradient_parameters as string[] | undefined) ?? []);
  const size = Number(settings.grad_global_norm);
  const tolerance = { ...GRADIENT, absolute: Math.max(GRADIENT.absolute, ROUNDING * size) };
  for (const name of golden.names) {
    if (!name.startsWith("grad.")) continue;
    const expected = await golden.read(name);
    const gradient = gradients[parameterPath(name.slice(5))];
    const got = gradient === undefined ? new Float32Array(expected.length) : await gradient.data();
    const exact = zero.has(name.slice(5));
    yield compareArrays(name, exact ? "zero gradient" : "gradient", expected, got, exact ? EXACT : tolerance);
  }
  const norm = await globalNorm(gradients);
  yield compareArrays("train.seg.grad_global_norm", "norm", [size], [norm], GRADIENT);
}

/**
 * The point-sampled loss. It starts from the golden logits, because rounding could change which points are the least
 * certain if two are nearly equal.
 */
async function* pointRows(inputs: FrozenInputs, settings: Json): AsyncGenerator<ParityRow> {
  const { golden } = inputs;
  if (!golden.has("points.selected")) return;
  const what = "point-sampled loss";
  const mask = tf.tensor(await golden.read("low_res_mask"), inputs.truth.shape);
  const [candidates, uniform] = [
    await golden.tensor("points.rand_oversample"),
    await golden.tensor("points.rand_uniform"),
  ];
  const keep = (golden.shape("points.selected")[1] as number) - (uniform.shape[1] as number);
  const selected = await selectPoints(mask, candidates, keep, uniform);
  const logits = samplePoints(mask, selected);
  const targets = samplePoints(inputs.truth, selected);
  const { bce, dice } = pointMaskLoss(logits, targets);
  for (const [name, tensor, tolerance] of [
    ["points.selected", selected, EXACT],
    ["points.pred", logits, DECODER],
    ["points.gt", targets, DECODER],
  ] as const) {
    yield compareArrays(name, what, await golden.read(name), await tensor.data(), tolerance);
  }
  for (const [name, tensor, weight] of [
    ["point_loss_mask", bce, BCE_WEIGHT],
    ["point_loss_dice", dice, DICE_WEIGHT],
  ] as const) {
    const got = weight * ((await tensor.data())[0] as number);
    yield compareArrays(`train.seg.${name}`, what, [Number(settings[name])], [got], DECODER);
  }
  tf.dispose([mask, candidates, uniform, selected, logits, targets, bce, dice]);
}

/**
 * One clipped AdamW step and the moving average after it. It starts from the golden gradients: Adam's first step is
 * nearly a sign, so for a gradient as small as eps our last digit would decide.
 */
async function* updateRows(
  inputs: FrozenInputs,
  parameters: ParameterSet,
  gradients: Readonly<Record<string, Tensor>>,
): AsyncGenerator<ParityRow> {
  if (!isRecord(inputs.language.cases.train.adamw)) return;
  const settings = inputs.language.cases.train.adamw;
  const { golden } = inputs;
  const factor = clipFactor(await globalNorm(gradients), Number(settings.max_grad_norm));
  yield compareArrays(
    "train.adamw.clip_coefficient",
    "clipping",
    [Number(settings.clip_coefficient)],
    [factor],
    GRADIENT,
  );
  const [beta1, beta2] = settings.betas as [number, number];
  const stored = await storedGradients(golden, Object.keys(parameters));
  const clipped = scaleGradients(stored, factor);
  const state = AdamState.fresh(parameters);
  const lr = Number(settings.lr);
  const after = applyAdamw(parameters, clipped, state, lr, {
    beta1,
    beta2,
    eps: Number(settings.eps),
    weightDecay: Number(settings.weight_decay),
    noDecay: () => false,
  });
  const average = updateEma(parameters, after, Number(settings.ema_decay));
  for (const name of golden.names) {
    const kind = /^(after_adamw|after_ema)\./.exec(name)?.[1];
    if (kind === undefined) continue;
    const set = kind === "after_adamw" ? after : average;
    const tensor = set[parameterPath(name.slice(kind.length + 1))];
    const what = kind === "after_adamw" ? "parameter after one step" : "moving average after one step";
    if (tensor === undefined) yield missed(name, what, "this tensor is not trainable here");
    else {
      // A thousandth of a step. The average moves far less, so only rounding is allowed there.
      const tolerance = kind === "after_adamw" ? { absolute: lr * 1e-3 } : AVERAGE;
      yield compareArrays(name, what, await golden.read(name), await tensor.data(), tolerance);
    }
  }
  state.dispose();
  tf.dispose([...Object.values(stored), ...Object.values(clipped), ...Object.values(after), ...Object.values(average)]);
}

async function storedGradients(golden: GoldenArrays, paths: readonly string[]): Promise<Record<string, Tensor>> {
  const set: Record<string, Tensor> = {};
  for (const name of golden.names) {
    const path = parameterPath(name.replace(/^grad\./, ""));
    if (name.startsWith("grad.") && paths.includes(path)) set[path] = await golden.tensor(name);
  }
  return set;
}

type Json = Readonly<Record<string, unknown>>;

function record(value: unknown): Json {
  if (!isRecord(value)) throw new Error("cases.json has no train.seg");
  return value;
}
