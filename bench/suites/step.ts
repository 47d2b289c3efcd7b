/** Whole steps: of a small decoder, which jax-js also runs, and of dual-loop GRPO, alternating with stock ops. */

import { switchBaseline } from "../baselines/tensors.ts";
import { DECODER, openDecoder } from "../cases/decoder.ts";
import { type BenchContext, isWanted } from "../context.ts";
import type { Pocket } from "../pocket.ts";
import { type BenchRow, benchRow } from "../row.ts";
import { inTurn } from "../turns.ts";
import { runSteps } from "./grpo.ts";

export const GRPO = "GRPO step, both loops, pocket model";
/** Share of the time that GRPO steps may take; jax-js compiles the decoder for half a minute on llvmpipe. */
const GRPO_SHARE = 0.6;

export async function* stepRows(context: BenchContext): AsyncGenerator<BenchRow> {
  const { adapter, where, rounds, clock, deadline, only, jax, leftOut } = context;
  if (isWanted(GRPO, only)) {
    const end = performance.now() + GRPO_SHARE * (deadline - performance.now());
    const times = await grpoTimes({ ...context, deadline: end }, await context.openPocket());
    yield benchRow({ suite: "step", case: GRPO, adapter, where }, times);
  }
  if (!isWanted(DECODER, only)) return;
  const left = deadline - performance.now();
  if (left <= 0) {
    leftOut(DECODER, "the time was up");
    return;
  }
  const opened = await openDecoder(jax);
  const times = await inTurn(opened.baselines, { rounds, budget: left, clock });
  await opened.dispose();
  yield benchRow({ suite: "step", case: DECODER, adapter, where }, times);
}

/** Ours and stock in turn; the first step of each compiles and does not count. */
async function grpoTimes(
  { device, reopen, rounds, clock, deadline }: BenchContext,
  pocket: Pocket,
): Promise<{ own: number[]; stock: number[] }> {
  // A clock may answer later, but it is read at once: marks[n] is the end of step n.
  const marks: (number | Promise<number>)[] = [];
  try {
    switchBaseline(true);
    await runSteps({
      device,
      reopen,
      pocket,
      steps: 2 * (rounds + 1),
      onStart: () => marks.push(clock()),
      onStep(step) {
        marks.push(clock());
        switchBaseline(step % 2 === 0);
        return step % 2 === 1 || step < 4 || performance.now() < deadline;
      },
    });
  } finally {
    switchBaseline(true);
  }
  const at = await Promise.all(marks);
  const times = at.slice(1).map((end, i) => end - (at[i] as number));
  const counted = times.slice(2);
  return {
    own: counted.filter((_, i) => i % 2 === 0),
    stock: counted.filter((_, i) => i % 2 === 1),
  };
}
