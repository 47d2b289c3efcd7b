/** The adapter's multiply-add rate, measured: many independent sums in registers, nothing loaded. */
import { toTensor } from "../../src/engine/gpu/own-op.ts";
import { type GpuProgram, runProgram } from "../../src/engine/gpu/program.ts";
import type { Clock } from "./turns.ts";

const THREADS = 64;
const GROUPS = 64;
const SUMS = 8;

const lines = (line: (i: number) => string): string => Array.from({ length: SUMS }, (_, i) => line(i)).join("\n");

const PEAK: GpuProgram = {
  name: "bench-peak",
  inputs: {},
  outputs: { result: "f32" },
  uniforms: { turns: "u32", factor: "f32" },
  workgroup: [THREADS, 1],
  body: `
    let x = vec4f(u.factor);
    ${lines((i) => `var s${i} = vec4f(f32(local.x) + ${i}.0);`)}
    for (var t = 0u; t < u.turns; t++) { ${lines((i) => `s${i} = fma(s${i}, x, x);`)} }
    let all = ${Array.from({ length: SUMS }, (_, i) => `s${i}`).join(" + ")};
    result[group.x * ${THREADS}u + local.x] = all.x + all.y + all.z + all.w;`,
};

/** A shared processor has spells of half its speed that last for seconds. */
const RUNS = 24;

/** Floating-point operations a second, the best of some runs. */
export async function peakRate(clock: Clock): Promise<number> {
  let best = 0;
  let turns = 256;
  for (let run = 0; run < RUNS; run++) {
    const start = await clock();
    const y = toTensor(runProgram(PEAK, [], [{ shape: [THREADS * GROUPS] }], [turns, 0.5], [GROUPS, 1, 1])[0]);
    await y.data();
    y.dispose();
    const seconds = ((await clock()) - start) / 1000;
    if (run > 0) best = Math.max(best, (2 * 4 * SUMS * turns * THREADS * GROUPS) / seconds);
    if (seconds < 0.05) turns *= 4;
  }
  return best;
}
