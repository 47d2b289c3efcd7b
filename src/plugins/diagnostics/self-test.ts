/** The self-test: whether this adapter computes training's programs correctly and repeatably, and gives memory back. */
import type { EngineDevice } from "../../engine/gpu/runtime/device.ts";
import { memorySnapshot } from "../../engine/gpu/runtime/memory-snapshot.ts";
import { trimPool } from "../../engine/gpu/runtime/pool.ts";
import { lengthProblems, type Outcome, type Problem, problems } from "./checks.ts";
import type { SelfCheck } from "./self-check.ts";

/** Number of checks on this adapter. */
export function countChecks(): number {
  return usual().length + 1;
}

const usual = (): Problem[] => [...problems(), ...lengthProblems()];

/**
 * Runs all checks; a failed check does not stop the others. The last one checks that nothing is left on the device.
 * @param now monotonic seconds
 * @param checks by default the short ones and those at true lengths
 */
export async function* selfTest(
  device: EngineDevice,
  now: () => number,
  checks: readonly Problem[] = usual(),
): AsyncGenerator<SelfCheck> {
  trimPool();
  const before = memorySnapshot();
  for (const { name, allowed, solve } of checks) {
    const began = now();
    const finish = (rest: Pick<SelfCheck, "error" | "repeats" | "problem">): SelfCheck => ({
      name,
      allowed,
      ...rest,
      seconds: now() - began,
    });
    try {
      const [first, second] = [await solve(), await solve()];
      device.check();
      yield finish({ error: errorOf(first), repeats: sameBits(first, second), problem: null });
    } catch (thrown) {
      const problem = thrown instanceof Error ? thrown.message : String(thrown);
      yield finish({ error: Number.NaN, repeats: false, problem });
    }
  }
  const began = now();
  trimPool();
  const after = memorySnapshot();
  const left = after.tensors - before.tensors + Math.max(0, after.gpuBytes - before.gpuBytes);
  const problem =
    left === 0
      ? null
      : `${after.tensors - before.tensors} tensors and ${after.gpuBytes - before.gpuBytes} bytes are left`;
  yield { name: "Memory given back", error: left, allowed: 0, repeats: true, problem, seconds: now() - began };
}

function errorOf({ found, expected }: Outcome): number {
  if (found.length !== expected.length) return Number.NaN;
  let [worst, size] = [0, 1e-30];
  for (let i = 0; i < expected.length; i++) {
    const error = Math.abs((found[i] as number) - (expected[i] as number));
    if (Number.isNaN(error)) return Number.NaN;
    worst = Math.max(worst, error);
    size = Math.max(size, Math.abs(expected[i] as number));
  }
  return worst / size;
}

function sameBits(a: Outcome, b: Outcome): boolean {
  return a.found.length === b.found.length && Array.from(a.found).every((value, i) => Object.is(value, b.found[i]));
}
