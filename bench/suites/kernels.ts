/**
 * Each custom kernel against the stock ops it replaces and, if they have one, the kernels of jax-js and
 * onnxruntime-web.
 */
import type { Arithmetic } from "../../src/engine/gpu/packed/half.ts";
import { layerCases, mainCases } from "../cases/all.ts";
import type { Case } from "../cases/case.ts";
import { type OpenedCase, openCase } from "../cases/opened.ts";
import { openPacked, PACKED } from "../cases/packed.ts";
import { largeProducts } from "../cases/products.ts";
import { openUpdate, UPDATES } from "../cases/update.ts";
import { type BenchContext, isWanted } from "../context.ts";
import { type BenchRow, benchRow } from "../row.ts";
import { inTurn } from "../turns.ts";

/**
 * Maximum time of a case as a multiple of an even share of the remaining time, because many cases need less than
 * theirs.
 */
const SHARE = 2;
/** Maximum and minimum milliseconds for a case. */
const MOST = 20_000;
const LEAST = 1500;
/** Share of the measured rate that the slowest baseline reaches, for estimating which cases take too long. */
const SLOWEST = 0.02;
/** Relative difference of two results that are equal up to rounding. */
const SAME = 1e-3;

interface Plan {
  readonly name: string;
  readonly flops?: number | undefined;
  /** Precision of our products; f32 when absent. */
  readonly arithmetic?: Arithmetic;
  readonly open: (context: BenchContext) => Promise<OpenedCase>;
}

/** In measuring order: when the time is up, the last ones are left out. */
function plans(): Plan[] {
  const updates = UPDATES.map((one): Plan => ({ name: one.name, open: (context) => openUpdate(one, context) }));
  const packed = PACKED.map(
    (one): Plan => ({
      name: one.name,
      flops: 2 * one.rows * one.out * one.inner * (one.gradient ? 2 : 1),
      arithmetic: one.arithmetic,
      open: (context) => openPacked(one, context),
    }),
  );
  return [
    ...mainCases().map(planOf),
    ...packed,
    ...updates,
    ...layerCases().map(planOf),
    ...largeProducts().map(planOf),
  ];
}

function planOf(one: Case): Plan {
  const { name, flops } = one;
  const open = (context: BenchContext): Promise<OpenedCase> =>
    openCase(one, { ...context, leftOut: (who, why) => context.leftOut(`${who}, ${name}`, why) });
  return { name, flops, open };
}

export async function* kernelRows(context: BenchContext): AsyncGenerator<BenchRow> {
  const { adapter, where, rounds, clock, deadline, rates, leftOut } = context;
  const wanted = plans().filter(({ name }) => isWanted(name, context.only) && !context.measured?.has(name));
  for (const [index, plan] of wanted.entries()) {
    const left = deadline - performance.now();
    if (left <= 0) {
      leftOut(plan.name, "the time was up");
      continue;
    }
    const rate = rates[plan.arithmetic ?? "f32"];
    if (rate === 0) {
      leftOut(plan.name, "half precision is for cards with shader-f16");
      continue;
    }
    const budget = Math.min(MOST, Math.max(LEAST, (SHARE * left) / (wanted.length - index)));
    const slowest = ((plan.flops ?? 0) / (SLOWEST * rates.f32)) * 1000;
    if (slowest > Math.max(budget, left / 4)) {
      leftOut(plan.name, `stock ops would need about ${Math.round(slowest / 1000)} s a call on this adapter`);
      continue;
    }
    const opened = await plan.open(context);
    try {
      const times = await inTurn(opened.baselines, { rounds, budget, clock });
      const row = benchRow({ suite: "kernels", case: plan.name, adapter, where }, times, plan.flops, rate);
      const { ortError = 0 } = opened;
      yield ortError > SAME ? { ...row, ort_error: ortError } : row;
    } finally {
      await opened.dispose();
    }
  }
}
