/**
 * Measures the forms of the buckets that have been used. Forms take turns, so that all are timed under the same load;
 * each is compiled and compared with the reference before it is timed. Calls run in slices of some milliseconds between
 * two waits for the device; an aborted signal takes effect after a slice.
 */
import { LabError } from "../errors.ts";
import { attentionForm, productForm, type SeenShape, withFormTable } from "../gpu/forms/active.ts";
import { ATTENTION_FORMS, PRODUCT_FORMS } from "../gpu/forms/records.ts";
import { passClock } from "../gpu/runtime/counters.ts";
import { uploadsDone } from "../gpu/runtime/program.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { choose, type Measured, ratioOf, worthMeasuring } from "./choose.ts";
import { type Work, workOf } from "./measure.ts";
import type { TuningEntry } from "./table.ts";

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
export function byWork(shapes: readonly SeenShape[]): readonly SeenShape[] {
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
export function agrees(own: Float32Array, expected: Float32Array, tolerance: number): boolean {
  let [worst, size] = [0, 1e-30];
  for (let i = 0; i < expected.length; i++) {
    const error = Math.abs((own[i] as number) - (expected[i] as number));
    if (Number.isNaN(error)) return false;
    worst = Math.max(worst, error);
    size = Math.max(size, Math.abs(expected[i] as number));
  }
  return own.length === expected.length && worst <= tolerance * size;
}
