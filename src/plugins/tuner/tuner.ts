/**
 * Measures the forms of the buckets that have been used. Forms take turns, so that all are timed under the same load;
 * each is compiled and compared with the reference before it is timed. Calls run in slices of some milliseconds between
 * two waits for the device; an aborted signal takes effect after a slice.
 */

import { LabError } from "../../engine/errors.ts";
import {
  attentionForm,
  type FormTable,
  formLimits,
  formTable,
  holdShapes,
  productForm,
  type SeenShape,
  seenShapes,
  setFormTable,
  withFormTable,
} from "../../engine/gpu/forms/active.ts";
import {
  ATTENTION_FORMS,
  type AttentionName,
  type AttentionSizes,
  attentionFits,
  LONG,
  PRODUCT_FORMS,
  type ProductForm,
  type ProductName,
  type ProductSizes,
  productFits,
  tilesOf,
} from "../../engine/gpu/forms/records.ts";
import { attention } from "../../engine/gpu/kernels/attention/attention.ts";
import { linear } from "../../engine/gpu/kernels/linear.ts";
import { recordProduct } from "../../engine/gpu/matmul/matmul-program.ts";
import { KEPT_SCORE_BYTES } from "../../engine/gpu/memory-sizes.ts";
import { packMatrix } from "../../engine/gpu/packed/matrix.ts";
import { packedBackward, packedForward } from "../../engine/gpu/packed/product.ts";
import type { WeightStorage } from "../../engine/gpu/packed/storage.ts";
import { UNIT } from "../../engine/gpu/packed/unpack.ts";
import { passClock } from "../../engine/gpu/runtime/counters.ts";
import { toTensor } from "../../engine/gpu/runtime/custom-op.ts";
import { uploadsDone } from "../../engine/gpu/runtime/program.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import type { Session } from "../../engine/session/session.ts";
import type { TuningEntry } from "../../engine/tuning/table.ts";
import { mergedTable, type TuningTable } from "../../engine/tuning/table.ts";
import { choose, type Measured, ratioOf, worthMeasuring } from "./choose.ts";
import { peakRate } from "./peak.ts";

// The work of one bucket: inputs of its shape, run in any of its forms.

/** Rank of the low-rank branch that represents a bucket. */
const RANK = 16;

const TOLERANCE = 2e-4;
/** Three decimal digits, the precision of half precision. */
const HALF_TOLERANCE = 2e-3;

interface Work {
  readonly forms: readonly (ProductName | AttentionName)[];
  /** The form that is stock TensorFlow.js; null if there is none. */
  readonly stock: ProductName | AttentionName | null;
  /** Maximum difference between the results of correct forms, relative to the largest element. */
  readonly tolerance: number;
  /** Floating-point operations of a call. */
  readonly flops: number;
  /** Records a call in a form; the caller owns the results. */
  readonly run: (form: ProductName | AttentionName) => readonly Tensor[];
  readonly dispose: () => void;
}

/** Values in [−1, 1) that are the same in every run. */
function operand(shape: readonly number[], seed: number): Tensor {
  return tf.randomUniform([...shape], -1, 1, "float32", seed);
}

/** Runs `work` with one bucket, or all buckets, set to a form. */
function withForm(
  form: ProductName | AttentionName,
  bucket: string | null,
  work: () => readonly Tensor[],
): readonly Tensor[] {
  const before: FormTable = formTable();
  setFormTable({ get: (asked) => (bucket === null || asked === bucket ? form : before.get(asked)) });
  try {
    return work();
  } finally {
    setFormTable(before);
  }
}

/** The work on which a bucket's forms are measured. */
function workOf(shape: SeenShape): Work {
  return shape.family === "product" ? productWork(shape.bucket, shape.sizes) : attentionWork(shape.bucket, shape.sizes);
}

/** Maximum elements of a measured packed matrix; longer ones are stored in blocks of rows anyway. */
const MOST_PACKED = 2 ** 23;

function packedWork(sizes: ProductSizes, storage: WeightStorage): Work {
  const { layout, epilogue, m } = sizes;
  const arithmetic = epilogue === "half" ? "f16" : "f32";
  const forward = layout === "nt";
  const [inSize, outs] = forward ? [sizes.k, sizes.n] : [sizes.n, sizes.k];
  const outSize = Math.min(outs, Math.max(1, Math.floor(MOST_PACKED / inSize)));
  const values = Float32Array.from({ length: outSize * inSize }, (_, at) => Math.sin(at * 12.9898));
  const matrix = packMatrix(values, [outSize, inSize], storage);
  const x = operand([m, forward ? Math.ceil(inSize / UNIT) * UNIT : outSize], 1);
  const names = Object.keys(PRODUCT_FORMS) as ProductName[];
  return {
    forms: names.filter((name) => productFits(name, epilogue, formLimits()) && productWorth(name, sizes)),
    stock: null,
    tolerance: epilogue === "half" ? HALF_TOLERANCE : TOLERANCE,
    flops: 2 * m * inSize * outSize,
    run: (form) =>
      withForm(form, null, () => [
        toTensor(forward ? packedForward(x, matrix, undefined, arithmetic) : packedBackward(x, matrix, arithmetic)),
      ]),
    dispose: () => {
      x.dispose();
      matrix.dispose();
    },
  };
}

function productWork(bucket: string, sizes: ProductSizes): Work {
  if (sizes.epilogue === "packed" || sizes.epilogue === "half") return packedWork(sizes, sizes.storage ?? "f32");
  const { layout, epilogue, batch, m, n, k } = sizes;
  const [transposeA, transposeB] = [layout[0] === "t", layout[1] === "t"];
  const lead = batch === 1 ? [] : [batch];
  const a = operand([...lead, ...(transposeA ? [k, m] : [m, k])], 1);
  const b = operand([...lead, ...(transposeB ? [n, k] : [k, n])], 2);
  const factors = epilogue === "low-rank" ? [operand([RANK, k], 3), operand([n, RANK], 4)] : [];
  const product = (): Tensor => {
    if (epilogue === "plain") return tf.matMul(a, b, transposeA, transposeB);
    if (epilogue === "low-rank")
      return linear(a, b, undefined, { a: factors[0] as Tensor, b: factors[1] as Tensor, scale: 1 });
    const aPlace = { ...(transposeA ? { line: 1, step: m } : { line: k, step: 1 }), batch: m * k };
    const bPlace = { ...(transposeB ? { line: k, step: 1 } : { line: 1, step: n }), batch: n * k };
    const out = { row: n, batch: m * n };
    return toTensor(recordProduct({ m, n, k, batch, a, aPlace, b, bPlace, out, end: "alone" }, [batch, m, n]));
  };
  const names = Object.keys(PRODUCT_FORMS) as ProductName[];
  return {
    forms: names.filter((name) => productFits(name, epilogue, formLimits()) && productWorth(name, sizes)),
    stock: epilogue === "part" ? null : "stock",
    tolerance: TOLERANCE,
    flops: 2 * batch * m * n * k,
    run: (form) => withForm(form, bucket, () => [tf.tidy(product)]),
    dispose: () => tf.dispose([a, b, ...factors]),
  };
}

function attentionWork(bucket: string, sizes: AttentionSizes): Work {
  const { heads, group, queries, keys, width, valueWidth, causal } = sizes;
  const inputs = [
    operand([1, heads, queries, width], 1),
    operand([1, heads / group, keys, width], 2),
    operand([1, heads / group, keys, valueWidth], 3),
  ];
  const forward = (...[q, k, v]: Tensor[]): Tensor =>
    attention(q as Tensor, k as Tensor, v as Tensor, width ** -0.5, undefined, causal ? {} : undefined);
  const names = Object.keys(ATTENTION_FORMS) as AttentionName[];
  return {
    forms: names.filter((name) => attentionFits(name, sizes, formLimits(), KEPT_SCORE_BYTES)),
    stock: attentionFits("scores", sizes, formLimits(), KEPT_SCORE_BYTES) ? "scores" : null,
    tolerance: TOLERANCE,
    // Two products forward and five backward; causality hides half.
    flops: (causal ? 0.5 : 1) * heads * queries * keys * (7 * width + 7 * valueWidth),
    run: (form) =>
      withForm(form, bucket, () =>
        tf.tidy(() => {
          const { value, grads } = tf.valueAndGrads((...given) =>
            forward(...given)
              .square()
              .sum(),
          )(inputs);
          value.dispose();
          return grads;
        }),
      ),
    dispose: () => tf.dispose(inputs),
  };
}

const ROUNDS = 5;
/** Target seconds of a slice, and its maximum number of calls. */
const SLICE = 0.02;
const MOST_CALLS = 64;
const LABEL = "tune";

export interface TunerOptions {
  /** Monotonic seconds; used where the device has no timestamps, or `stamps` is false. */
  readonly now: () => number;
  /** Whether to use timestamp queries where the device has them; true by default. */
  readonly stamps?: boolean;
  readonly signal?: AbortSignal;
  /** Throws the error that the device reported for the work so far. */
  readonly check: () => Promise<void>;
  /** @param bucket the next one to be measured */
  readonly onBucket?: (done: number, total: number, bucket: string) => void;
}

/** Shapes in order of the arithmetic they represent, largest first. */
function byWork(shapes: readonly SeenShape[]): readonly SeenShape[] {
  const work = ({ family, sizes, times }: SeenShape): number =>
    family === "product"
      ? times * sizes.batch * sizes.m * sizes.n * sizes.k
      : times * sizes.heads * sizes.queries * sizes.keys * sizes.width;
  return [...shapes].sort((a, b) => work(b) - work(a));
}

/**
 * The measured entry of every bucket, as soon as it is ready.
 * @throws LabError("cancelled") when the signal aborts
 */
export async function* tuneShapes(shapes: readonly SeenShape[], options: TunerOptions): AsyncGenerator<TuningEntry> {
  for (const [done, shape] of shapes.entries()) {
    options.onBucket?.(done, shapes.length, shape.bucket);
    yield await tuneShape(shape, options);
  }
}

/** The form that runs without a measurement. */
async function referenceOf({ family, sizes }: SeenShape): Promise<string> {
  return withFormTable(new Map(), async () => {
    const [forms, form] =
      family === "product" ? [PRODUCT_FORMS, productForm(sizes)] : [ATTENTION_FORMS, attentionForm(sizes)];
    return (Object.entries(forms).find(([, own]) => own === form) as [string, unknown])[0];
  });
}

async function tuneShape(shape: SeenShape, options: TunerOptions): Promise<TuningEntry> {
  const reference = await referenceOf(shape);
  const work = workOf(shape);
  try {
    const measured = await measureForms(work, reference, options);
    const choice = choose(measured, reference);
    const stock = measured.find(({ form }) => form === work.stock);
    const own = measured.find(({ form }) => form === choice.form) as Measured;
    return {
      bucket: shape.bucket,
      form: choice.form,
      reference,
      seconds: choice.seconds,
      ratio: choice.ratio,
      stock: stock === undefined ? null : ratioOf(own.seconds.slice(0, stock.seconds.length), stock.seconds),
      rate: choice.seconds > 0 ? work.flops / choice.seconds : 0,
    };
  } finally {
    work.dispose();
  }
}

async function measureForms(work: Work, reference: string, options: TunerOptions): Promise<Measured[]> {
  const forms = [reference, ...work.forms.filter((form) => form !== reference)] as Work["forms"];
  const found = new Map<string, { right: boolean; seconds: number[]; calls: number }>();
  let expected: Float32Array[] = [];
  for (const form of forms) {
    const values = await valuesOf(work, form, options);
    if (form === reference) {
      if (values === undefined) throw new LabError("gpu", `The form ${reference} does not run on this device`);
      expected = values;
    }
    const right = values?.every((own, i) => agrees(own, expected[i] as Float32Array, work.tolerance)) ?? false;
    const once = right ? await slice(work, form, 1, options) : 0;
    found.set(form, { right, seconds: [], calls: Math.min(MOST_CALLS, Math.max(1, Math.ceil(SLICE / once))) });
  }
  const all = (): Measured[] => [...found].map(([form, { right, seconds }]) => ({ form, right, seconds }));
  let left = forms.filter((form) => found.get(form)?.right);
  for (let round = 0; round < ROUNDS; round++) {
    for (const form of left) {
      const own = found.get(form) as { seconds: number[]; calls: number };
      own.seconds.push(await slice(work, form, own.calls, options));
    }
    if (round === 0) {
      const worth = worthMeasuring(all(), reference);
      left = left.filter((form) => worth.includes(form));
    }
  }
  return all();
}

/** Seconds per call. */
async function slice(work: Work, form: Work["forms"][number], calls: number, options: TunerOptions): Promise<number> {
  if (options.signal?.aborted === true) {
    throw new LabError("cancelled", "Tuning was stopped; forms measured so far are kept");
  }
  await uploadsDone();
  const stamps = options.stamps === false ? undefined : passClock();
  stamps?.restart();
  stamps?.label(LABEL);
  const began = options.now();
  try {
    for (let call = 0; call < calls; call++) tf.dispose([...work.run(form)]);
    await uploadsDone();
  } finally {
    stamps?.label(null);
  }
  const wall = options.now() - began;
  const stamped = (await stamps?.read())?.get(LABEL);
  return (stamped === undefined || stamped === 0 ? wall : stamped) / calls;
}

/** The results of a form; undefined if the device refuses its program or its memory. */
async function valuesOf(
  work: Work,
  form: Work["forms"][number],
  { check }: TunerOptions,
): Promise<Float32Array[] | undefined> {
  const tensors: readonly Tensor[] = work.run(form);
  try {
    const values: Float32Array[] = [];
    for (const tensor of tensors) values.push((await tensor.data()) as Float32Array);
    await check();
    return values;
  } catch (thrown) {
    if (thrown instanceof LabError) return undefined;
    throw thrown;
  } finally {
    tf.dispose([...tensors]);
  }
}

/**
 * Whether no element differs by more than rounding; a NaN never agrees.
 * @param tolerance relative to the largest element
 */
function agrees(own: Float32Array, expected: Float32Array, tolerance: number): boolean {
  let [worst, size] = [0, 1e-30];
  for (let i = 0; i < expected.length; i++) {
    const error = Math.abs((own[i] as number) - (expected[i] as number));
    if (Number.isNaN(error)) return false;
    worst = Math.max(worst, error);
    size = Math.max(size, Math.abs(expected[i] as number));
  }
  return own.length === expected.length && worst <= tolerance * size;
}

/** Number of multiply-add runs; the first one compiles. */
const PEAK_RUNS = 6;

/** How kernels are tuned; all fields are optional. */
interface TuneOptions extends Omit<Partial<TunerOptions>, "check"> {
  /**
   * Measures the adapter's multiply-adds in floating-point operations per second; by default several runs timed by the
   * session's clock.
   */
  readonly peak?: () => Promise<number>;
  /** Maximum number of buckets; those with the most arithmetic are measured. */
  readonly most?: number;
}

/**
 * Measures the forms of the shapes that this thread has computed, with exclusive use of the device.
 * @param again also measures buckets that already have an entry
 * @throws LabError naming the current use, or "cancelled" when the signal aborts; entries measured before that are
 * kept
 */
export async function tuneKernels(session: Session, again: boolean, options: TuneOptions = {}): Promise<TuningTable> {
  return session.whileIdle("tune", () => measure(session, again, options));
}

async function measure({ forms, device }: Session, again: boolean, options: TuneOptions): Promise<TuningTable> {
  await forms.quiet();
  const before = await forms.table();
  const known = new Set(again ? [] : before.entries.map(({ bucket }) => bucket));
  const missing = byWork(seenShapes()).filter(({ bucket }) => !known.has(bucket));
  const entries: TuningEntry[] = [];
  const check = (): Promise<void> => device.checkAll();
  const forget = holdShapes();
  const given = { now: forms.now, ...options, check };
  let { peak } = before;
  try {
    const clock = (): number => 1000 * forms.now();
    if (again || peak === null) peak = await (options.peak ?? (() => peakRate("f32", clock, PEAK_RUNS)))();
    for await (const entry of tuneShapes(missing.slice(0, options.most), given)) entries.push(entry);
  } finally {
    forget();
    await forms.keep({ ...mergedTable(before, entries), peak });
  }
  return forms.table();
}

/**
 * Maximum tiles, along the rows and together, and minimum K for which splitting K is useful, because it gives a card
 * more workgroups than the result has tiles.
 */
const FEW_DOWN = 8;

const FEW_TILES = 256;

/**
 * Whether a form is worth measuring for these sizes: its program differs from the other forms', and pieces of K are
 * long enough.
 */
export function productWorth(name: ProductName, { layout, epilogue, batch, m, n, k }: ProductSizes): boolean {
  const form: ProductForm = PRODUCT_FORMS[name];
  if (form.kind !== "tiles") return true;
  const few = m <= FEW_DOWN * form.m && tilesOf(form, m, n) <= FEW_TILES;
  if (form.split !== undefined && !(few && batch === 1 && k >= LONG)) return false;
  // The tiled forward program of packed matrices always loads vectors.
  if (epilogue === "packed" || epilogue === "half") {
    return form.vectors === undefined || form.split !== undefined || (layout === "nn" && k % 4 === 0);
  }
  const sides = [layout[0] === "n" ? k : m, layout[1] === "t" ? k : n];
  return form.vectors === undefined || sides.every((side) => side % 4 === 0);
}
