/**
 * Keeps results repeatable on one adapter. Stock tfjs splits long inner dimensions over workgroups that add with float
 * atomics, so the sum's order, and with it the last bits, change from run to run (reference: webgpu.md §2.2). The
 * wrapped kernel asks for the small-tile program in just those cases.
 */
import { tf } from "./tf.ts";

/** tfjs' own threshold, above which it would split the inner dimension. */
const SPLIT_K_FROM = 2000;
/** MatMulProgramType.MatMulSmallOutputSizeProgram of tfjs-backend-webgpu 4.22.0. */
const SMALL_OUTPUT_PROGRAM = 2;
const FLAG = "WEBGPU_MATMUL_PROGRAM_TYPE";

let installed = false;

/** Wraps the backend's BatchMatMul once per realm; calling it again does nothing. */
export function installDeterministicMatMul(): void {
  if (installed) return;
  const stock = tf.getKernel("BatchMatMul", "webgpu");
  if (stock === undefined) return;
  installed = true;
  tf.unregisterKernel("BatchMatMul", "webgpu");
  tf.registerKernel({
    ...stock,
    kernelFunc(params) {
      const a = params.inputs.a as tf.TensorInfo;
      const rank = a.shape.length;
      const inner = a.shape[params.attrs?.transposeA === true ? rank - 2 : rank - 1] as number;
      if (inner < SPLIT_K_FROM) return stock.kernelFunc(params);
      const chosen = tf.env().getNumber(FLAG);
      tf.env().set(FLAG, SMALL_OUTPUT_PROGRAM);
      try {
        return stock.kernelFunc(params);
      } finally {
        tf.env().set(FLAG, chosen);
      }
    },
  });
}
