/** Dispatches of programs that may apply an activation to their sums (activation-code.ts). */

import type { GpuProgram } from "../runtime/pipelines.ts";
import { type OutputInto, type OutputSpec, type ProgramInput, release, runProgram } from "../runtime/program.ts";
import type { tf } from "../tf.ts";
import { type AfterSums, activationCode } from "./activation-code.ts";

/** A dispatch with one output, in the form that `runProgram` takes. */
export interface ProductRun {
  readonly program: GpuProgram;
  readonly inputs: readonly ProgramInput[];
  readonly values: OutputSpec | OutputInto;
  readonly uniforms: readonly number[];
  readonly grid: readonly [number, number, number];
}

/** The rows of an activation's tensors that a dispatch uses. */
interface After extends Pick<AfterSums, "kind"> {
  readonly other?: ProgramInput | undefined;
  readonly sums?: OutputInto | undefined;
}

/** Bound as the second output if no sums are stored; nothing is written to it. */
const UNUSED: OutputSpec = { shape: [4] };

/**
 * Records a product and its activation.
 * @param idle bound in place of `other` if the activation has none; at least one group of four
 * @returns the values
 */
export function runActivated(run: ProductRun, after: After | undefined, idle: ProgramInput): tf.TensorInfo {
  const { program, inputs, values, uniforms, grid } = run;
  if (after === undefined) return runProgram(program, inputs, [values], uniforms, grid)[0] as tf.TensorInfo;
  const { kind, other = idle, sums } = after;
  const kept = sums !== undefined;
  const outputs = kept ? [sums, values] : [values, UNUSED];
  const own = [activationCode(kind), kept ? 1 : 0];
  const [result, activated] = runProgram(program, [...inputs, other], outputs, [...uniforms, ...own], grid) as [
    tf.TensorInfo,
    tf.TensorInfo,
  ];
  if (kept) return activated;
  release(activated);
  return result;
}
