/** The self-test: passes in both forms of the programs, and finds a program that is wrong, one that wanders, and a leak. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-kernels.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { type Problem, problems } from "../../src/engine/self-test/checks.ts";
import { passed, type SelfCheck } from "../../src/engine/self-test/self-check.ts";
import { selfTest } from "../../src/engine/self-test/self-test.ts";
import { openGpuAgain, useGpu } from "../support/gpu.ts";

let device: EngineDevice;
beforeAll(async () => {
  device = await useGpu();
});
afterEach(() => setAdapterKind(true));

const seconds = (): number => performance.now() / 1000;

async function all(on: EngineDevice, which?: readonly Problem[]): Promise<SelfCheck[]> {
  const checks: SelfCheck[] = [];
  for await (const check of selfTest(on, seconds, which)) checks.push(check);
  return checks;
}

const failures = (checks: readonly SelfCheck[]): string[] =>
  checks.filter((check) => !passed(check)).map(({ name, error, problem }) => `${name}: ${problem ?? error}`);

describe("the self-test", () => {
  it.each([true, false])("passes with the programs of software adapters: %s", async (software) => {
    setAdapterKind(software);
    const checks = await all(device);
    expect(failures(checks)).toEqual([]);
    expect(checks.length).toBeGreaterThan(20);
    expect(checks.map(({ name }) => name).join()).toMatch(/sums of 4864.*1025 keys.*151674 words/);
    expect(checks.some(({ name }) => name.includes("half-precision products"))).toBe(
      !software && device.device.features.has("shader-f16"),
    );
    expect(new Set(checks.map(({ name }) => name)).size).toBe(checks.length);
    // Rounding is there and is seen: no check compares a thing with itself.
    expect(checks.filter(({ error }) => error > 0).length).toBeGreaterThan(checks.length / 2);
  });

  it("finds programs that are wrong by one part in a thousand, or that fail", async () => {
    device.close();
    device = await openGpuAgain();
    const create = device.device.createShaderModule.bind(device.device);
    device.device.createShaderModule = (descriptor) => {
      const { label = "", code } = descriptor;
      if (label.startsWith("lab-matmul")) {
        return create({ ...descriptor, code: code.replaceAll("u.alpha * sum", "1.001 * u.alpha * sum") });
      }
      if (label.startsWith("lab-rms-norm-grad"))
        return create({ ...descriptor, code: code.replaceAll("- normed * along", "") });
      if (label.startsWith("lab-decode-linear"))
        return create({ ...descriptor, code: code.replaceAll("dot(", "1.001 * dot(") });
      return create(descriptor);
    };
    const found = failures(await all(device, problems())).map((line) => line.split(":")[0] as string);
    expect(found).toContain("Products, 33 rows");
    expect(found).toContain("Gradients");
    expect(found).toContain("Sampled tokens, their log-probabilities");
    expect(found).not.toContain("RMSNorm");
    expect(found).not.toContain("AdamW update");
    expect(found).not.toContain("Memory given back");
  });

  it("tells what was left on the device", async () => {
    device.close();
    device = await openGpuAgain();
    const kept: tf.Tensor[] = [];
    const create = device.device.createShaderModule.bind(device.device);
    // As a leak would: something that a check makes outlives it.
    device.device.createShaderModule = (descriptor) => {
      if (kept.length === 0) kept.push(tf.keep(tf.zeros([1024])));
      return create(descriptor);
    };
    expect(failures(await all(device, problems()))).toEqual(["Memory given back: 1 tensors and 0 bytes are left"]);
    tf.dispose(kept);
  });
});
