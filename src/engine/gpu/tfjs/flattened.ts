/**
 * Passes the operands of element-wise operations as vectors. The backend compiles a program for every rank, though only
 * the number of elements matters.
 */

import { customKernels } from "../runtime/custom-op.ts";
import { tf } from "../tf.ts";
import { overrideKernel } from "./override.ts";

/** Kernels of the backend. Those with several operands are flattened only if the operands have one shape. */
const NAMES = [
  ...["Abs", "Ceil", "ClipByValue", "Cos", "Elu", "Erf", "Exp", "Expm1", "Floor", "IsFinite", "IsInf", "IsNan"],
  ...[
    "LeakyRelu",
    "Log",
    "Log1p",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Neg",
    "Pow",
    "Reciprocal",
    "Relu",
    "Relu6",
  ],
  ...["Round", "Rsqrt", "Select", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Square", "SquaredDifference", "Step"],
  ...["Tanh", "OnesLike", "ZerosLike"],
];

/** Wraps the backend's operations. */
export function installFlattened(): void {
  for (const name of NAMES) {
    overrideKernel(name, (params, stock) => {
      const inputs = Object.entries(params.inputs as Readonly<Record<string, tf.TensorInfo>>);
      const [first] = inputs.map(([, input]) => input);
      const alike = first !== undefined && inputs.every(([, { shape }]) => tf.util.arraysEqual(shape, first.shape));
      if (!customKernels() || !alike || first.shape.length === 1) return undefined;
      const size = tf.util.sizeFromShape(first.shape);
      const flat = inputs.map(
        ([at, { dataId, dtype }]) => [at, { dataId, dtype, shape: [size] }] as [string, tf.TensorInfo],
      );
      const made = stock({ ...params, inputs: Object.fromEntries(flat) }) as tf.TensorInfo;
      return { ...made, shape: [...first.shape] };
    });
  }
  overrideKernel("Fill", (params, stock) => {
    const { shape } = params.attrs as unknown as { shape: number[] };
    if (!customKernels()) return undefined;
    const attrs = { ...params.attrs, shape: [tf.util.sizeFromShape(shape)] };
    return { ...(stock({ ...params, attrs }) as tf.TensorInfo), shape: [...shape] };
  });
}
