/**
 * The self-test: passes in both forms of the programs, and finds a program that is wrong and a leak. On a device with the
 * limits that every one has and no features, everything of a demo step has a form, too.
 */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { runSteps } from "../../bench/suites/grpo.ts";
import { nodePocket } from "../../bench/tool/node-place.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { type Problem, problems } from "../../src/plugins/diagnostics/checks.ts";
import { passed, type SelfCheck } from "../../src/plugins/diagnostics/self-check.ts";
import { selfTest } from "../../src/plugins/diagnostics/self-test.ts";
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
    // There is some rounding error: no check compares a value with itself.
    expect(checks.filter(({ error }) => error > 0).length).toBeGreaterThan(checks.length / 2);
  });

  it("finds programs that are wrong by one part in a thousand, or that fail", async () => {
    device.close();
    device = await openGpuAgain();
    const create = device.device.createShaderModule.bind(device.device);
    const faults = [
      { program: "lab-matmul", right: "u.alpha * sum", wrong: "1.001 * u.alpha * sum" },
      { program: "lab-rms-norm-grad", right: "- centred * scale * along", wrong: "" },
      { program: "lab-decode-linear", right: "dot(", wrong: "1.001 * dot(" },
    ];
    const damaged = new Set<string>();
    device.device.createShaderModule = ({ label = "", code, ...others }) => {
      const fault = faults.find(({ program, right }) => label.startsWith(program) && code.includes(right));
      if (fault !== undefined) damaged.add(fault.program);
      return create({ ...others, label, code: fault === undefined ? code : code.replaceAll(fault.right, fault.wrong) });
    };
    const names = /^(Products, 33 rows|Gradients|Sampled tokens|RMSNorm|AdamW update)/;
    const some = problems().filter(({ name }) => names.test(name));
    const found = failures(await all(device, some)).map((line) => line.split(":")[0] as string);
    expect(damaged).toEqual(new Set(faults.map(({ program }) => program)));
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
    // As in a leak: a tensor of a check outlives it.
    device.device.createShaderModule = (descriptor) => {
      if (kept.length === 0) kept.push(tf.keep(tf.zeros([1024])));
      return create(descriptor);
    };
    expect(failures(await all(device, problems().slice(0, 1)))).toEqual([
      "Memory given back: 1 tensors and 0 bytes are left",
    ]);
    tf.dispose(kept);
  });
});

describe("a device with the least limits", () => {
  it.each([true, false])(
    "trains and passes the self-test with the programs of software adapters: %s",
    async (software) => {
      const device = await openNodeDevice({ least: true });
      const { limits, features } = device.device;
      expect([limits.maxStorageBuffersPerShaderStage, limits.maxComputeInvocationsPerWorkgroup]).toEqual([8, 256]);
      expect(features.has("subgroups") || features.has("shader-f16")).toBe(false);
      setAdapterKind(software);
      // Programs that bind many buffers, use much workgroup memory or have a form in subgroups.
      const some = problems().filter(({ name }) => /^(Linear|Weights in q4|Attention|Sampled|Gradients)/.test(name));
      expect(some.length).toBeGreaterThan(6);
      for await (const check of selfTest(device, seconds, some)) {
        expect(passed(check), `${check.name}: ${check.problem ?? check.error}`).toBe(true);
      }
      if (!software) return device.close();
      const steps: number[] = [];
      await runSteps({
        device,
        reopen: () => openNodeDevice({ least: true }),
        pocket: await nodePocket(),
        steps: 1,
        // As many kinds of work as the demo's step, but less of each.
        changes: { numGenerations: 2, promptsPerStep: 1, maxCompletionLength: 4, partnerMaxTokens: 4 },
        onStep: (step) => steps.push(step) < 1,
      });
      expect(steps).toEqual([1]);
      device.check();
      device.close();
    },
  );
});
