/** The work of one bucket: inputs of its shape, run in any of its forms. */
import type { SeenShape } from "../gpu/forms/active.ts";
import { type FormTable, formLimits, formTable, setFormTable } from "../gpu/forms/active.ts";
import type { AttentionSizes, ProductSizes } from "../gpu/forms/buckets.ts";
import {
  ATTENTION_FORMS,
  type AttentionName,
  attentionFits,
  PRODUCT_FORMS,
  type ProductName,
  productFits,
  productWorth,
} from "../gpu/forms/records.ts";
import { attention } from "../gpu/kernels/attention/attention.ts";
import { linear } from "../gpu/kernels/linear.ts";
import { recordProduct } from "../gpu/matmul/matmul-program.ts";
import { KEPT_SCORE_BYTES } from "../gpu/memory-sizes.ts";
import { packMatrix } from "../gpu/packed/matrix.ts";
import { packedBackward, packedForward } from "../gpu/packed/product.ts";
import type { WeightStorage } from "../gpu/packed/storage.ts";
import { UNIT } from "../gpu/packed/unpack.ts";
import { toTensor } from "../gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../gpu/tf.ts";

/** Rank of the low-rank branch that represents a bucket. */
const RANK = 16;

const TOLERANCE = 2e-4;
/** Three decimal digits, the precision of half precision. */
const HALF_TOLERANCE = 2e-3;

export interface Work {
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
export function workOf(shape: SeenShape): Work {
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
