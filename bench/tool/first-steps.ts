/** First steps of all participants, each in a separate process or browser, one after the other. */
import { isWanted } from "../context.ts";
import { type BenchRow, benchRow, type Times } from "../row.ts";
import { FIRST_CASES, type FirstTask } from "../suites/first.ts";
import type { BenchPlace, Listener } from "./place.ts";

type Who = FirstTask["who"];
const TAKING_PART: Readonly<Record<FirstTask["what"], readonly Who[]>> = {
  decoder: ["own", "stock", "jaxjs"],
  grpo: ["own", "stock"],
};

/** Maximum assumed ratio of another participant's first step to ours. */
const SLOWER = 8;

export interface FirstLimits {
  readonly only: string;
  readonly jax: boolean;
  readonly processorTime: boolean;
  /** On the clock of `performance.now`, milliseconds: a baseline that would end later does not start. */
  readonly deadline: number;
}

/** @param like suite and adapter of the rows */
export async function firstRows(
  place: BenchPlace,
  like: Pick<BenchRow, "adapter" | "where">,
  limits: FirstLimits,
  listener: Listener,
): Promise<void> {
  for (const what of ["decoder", "grpo"] as const) {
    const name = FIRST_CASES[what];
    if (!isWanted(name, limits.only)) continue;
    const times: { -readonly [who in keyof Times]: number[] } = {};
    let longest = 0;
    for (const who of TAKING_PART[what]) {
      if (who === "jaxjs" && !limits.jax) continue;
      if (performance.now() + longest > limits.deadline) {
        listener.onLeftOut(`${who}, ${name}`, "the time was up");
        continue;
      }
      const start = performance.now();
      times[who] = [await place.first({ what, who, processorTime: limits.processorTime })];
      longest = Math.max(longest, (who === "own" ? SLOWER : 1) * (performance.now() - start));
    }
    if (times.own !== undefined) listener.onRow(benchRow({ suite: "step", case: name, ...like }, times));
  }
}
