/**
 * Operations whose elements do not know of each other get their operands as vectors: the backend compiles a program for
 * every rank, though only the number of elements matters.
 */
import { ownKernels } from "./own-kernels.ts";
import { tf } from "./tf.ts";

/** Kernels of the backend of one operand, or of several of which only such of one shape are flattened. */
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

let installed = false;

/** Wraps the backend's operations once per realm; calling it again does nothing. */
export function installFlattened(): void {
  if (installed) return;
  installed = true;
  for (const name of NAMES) {
    const stock = tf.getKernel(name, "webgpu");
    if (stock === undefined) continue;
    tf.unregisterKernel(name, "webgpu");
    tf.registerKernel({
      ...stock,
      kernelFunc(params) {
        const inputs = Object.entries(params.inputs as Readonly<Record<string, tf.TensorInfo>>);
        const [first] = inputs.map(([, input]) => input);
        const alike = first !== undefined && inputs.every(([, { shape }]) => tf.util.arraysEqual(shape, first.shape));
        if (!ownKernels() || !alike || first.shape.length === 1) return stock.kernelFunc(params);
        const size = tf.util.sizeFromShape(first.shape);
        const flat = inputs.map(
          ([at, { dataId, dtype }]) => [at, { dataId, dtype, shape: [size] }] as [string, tf.TensorInfo],
        );
        const made = stock.kernelFunc({ ...params, inputs: Object.fromEntries(flat) }) as tf.TensorInfo;
        return { ...made, shape: [...first.shape] };
      },
    });
  }
  const fill = tf.getKernel("Fill", "webgpu");
  if (fill === undefined) return;
  tf.unregisterKernel("Fill", "webgpu");
  tf.registerKernel({
    ...fill,
    kernelFunc(params) {
      const { shape } = params.attrs as unknown as { shape: number[] };
      if (!ownKernels()) return fill.kernelFunc(params);
      const attrs = { ...params.attrs, shape: [tf.util.sizeFromShape(shape)] };
      return { ...(fill.kernelFunc({ ...params, attrs }) as tf.TensorInfo), shape: [...shape] };
    },
  });
}
