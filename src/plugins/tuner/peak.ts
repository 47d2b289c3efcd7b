/** Measures the multiply-add rates of the adapter: many independent sums in registers, without loads. */
import type { Arithmetic } from "../../engine/gpu/packed/half.ts";
import { halfPrograms, toTensor } from "../../engine/gpu/runtime/custom-op.ts";
import type { GpuProgram } from "../../engine/gpu/runtime/pipelines.ts";
import { runProgram } from "../../engine/gpu/runtime/program.ts";

const THREADS = 64;

const GROUPS = 64;

const SUMS = 8;

const lines = (line: (i: number) => string): string => Array.from({ length: SUMS }, (_, i) => line(i)).join("\n");

const peakProgram = (type: Arithmetic): GpuProgram => ({
  name: `lab-card-peak-${type}`,
  ...(type === "f16" ? { enable: ["f16"] } : {}),
  inputs: {},
  outputs: { result: "f32" },
  uniforms: { turns: "u32", factor: "f32" },
  workgroup: [THREADS, 1],
  body: `
    let x = vec4<${type}>(${type}(u.factor));
    ${lines((i) => `var s${i} = vec4<${type}>(${type}(local.x) + ${i}.0);`)}
    for (var t = 0u; t < u.turns; t++) { ${lines((i) => `s${i} = fma(s${i}, x, x);`)} }
    let all = ${Array.from({ length: SUMS }, (_, i) => `s${i}`).join(" + ")};
    result[group.x * ${THREADS}u + local.x] = f32(all.x + all.y + all.z + all.w);`,
});

/** Milliseconds of wall time, or of processor time, which load on the machine changes less. */
export type Clock = () => number | Promise<number>;

/** Many runs, because a shared processor may run at half its speed for seconds. */
const RUNS = 24;

/** Floating-point operations per second; 0 if programs cannot use this precision. */
export type Rates = Readonly<Record<Arithmetic, number>>;

/** Both rates, each the best of several runs. */
export async function peakRates(clock: Clock, runs = RUNS): Promise<Rates> {
  const f32 = await peakRate("f32", clock, runs);
  return { f32, f16: halfPrograms() ? await peakRate("f16", clock, runs) : 0 };
}

/** The best of several runs, not counting the first, which compiles. */
export async function peakRate(type: Arithmetic, clock: Clock, runs: number): Promise<number> {
  const program = peakProgram(type);
  let best = 0;
  let turns = 256;
  for (let run = 0; run < runs; run++) {
    const start = await clock();
    const y = toTensor(runProgram(program, [], [{ shape: [THREADS * GROUPS] }], [turns, 0.5], [GROUPS, 1, 1])[0]);
    await y.data();
    y.dispose();
    const seconds = ((await clock()) - start) / 1000;
    if (run > 0) best = Math.max(best, (2 * 4 * SUMS * turns * THREADS * GROUPS) / seconds);
    if (seconds < 0.05) turns *= 4;
  }
  return best;
}
