/**
 * Compiles the most expensive programs of sampling and training while weights are read. A driver that compiles at
 * creation has finished by the first step, on several threads if it can. With a driver that compiles at the first
 * dispatch, the recording thread no longer waits. A software adapter compiles for a second or more on the processors
 * that read the weights, and many sessions start no run, so there the programs are compiled when a run starts.
 */

import { EMBED, mixProgram, NORM, ROTATE, scoreLanes, scoresProgram, sharedHeads } from "./decode/attend.ts";
import { withReduction } from "./decode/lanes.ts";
import { FOLD, GATE, linearProgram } from "./decode/products.ts";
import { SAMPLE } from "./decode/sample.ts";
import { slotBlock } from "./decode/slot-block.ts";
import { builtInForms } from "./forms/active.ts";
import { usualProducts } from "./matmul/matmul-program.ts";
import { broadcastLanes, customKernels } from "./runtime/custom-op.ts";
import { compileAhead, type GpuProgram } from "./runtime/pipelines.ts";
import { backendDevice } from "./runtime/program.ts";

/** Slots of a group of eight rollouts, and of several groups at once. */
const SLOTS = [8, 16];

/** Programs for decoding f32 weights and, on software adapters, for matrix products; the rest compiles quickly. */
export function precompiledPrograms(): GpuProgram[] {
  const software = builtInForms().decoding === "thread";
  // Most language families have grouped queries.
  const shared = sharedHeads(2, 1, software);
  const linears = SLOTS.map((slots) => linearProgram(slotBlock(slots, software, broadcastLanes())));
  const decoding = [NORM, ...linears, mixProgram(shared), SAMPLE];
  const programs = [
    ...(software ? usualProducts() : []),
    ...decoding.map((program) => withReduction(program, software).program),
    ...[FOLD, EMBED, ROTATE, scoresProgram(scoreLanes(software), shared), GATE],
  ];
  return [...new Set(programs)];
}

/**
 * Compiles the programs and settles when that is done. Does nothing without custom kernels, or if this adapter compiles
 * at the other of the two moments.
 */
export async function compileUsualPrograms(moment: "load" | "run"): Promise<void> {
  if (customKernels() && builtInForms().compiled === moment) await compileAhead(backendDevice(), precompiledPrograms());
}
