/** A device with the limits that every one has and no features: everything of a demo step has a form for it. */
import { afterEach, expect, it } from "vitest";
import { runSteps } from "../../bench/suites/grpo.ts";
import { nodePocket } from "../../bench/tool/node-place.ts";
import { openNodeDevice } from "../../scripts/lib/node-gpu.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-kernels.ts";
import { problems } from "../../src/engine/self-test/checks.ts";
import { passed } from "../../src/engine/self-test/self-check.ts";
import { selfTest } from "../../src/engine/self-test/self-test.ts";

afterEach(() => setAdapterKind(true));

it.each([true, false])(
  "trains and passes the self-test with the programs of software adapters: %s",
  async (software) => {
    const device = await openNodeDevice({ least: true });
    const { limits, features } = device.device;
    expect([limits.maxStorageBuffersPerShaderStage, limits.maxComputeInvocationsPerWorkgroup]).toEqual([8, 256]);
    expect(features.has("subgroups") || features.has("shader-f16")).toBe(false);
    setAdapterKind(software);
    for await (const check of selfTest(device, () => performance.now() / 1000, problems())) {
      expect(passed(check), `${check.name}: ${check.problem ?? check.error}`).toBe(true);
    }
    if (!software) return device.close();
    const steps: number[] = [];
    await runSteps({
      device,
      reopen: () => openNodeDevice({ least: true }),
      pocket: await nodePocket(),
      steps: 1,
      onStep: (step) => steps.push(step) < 1,
    });
    expect(steps).toEqual([1]);
    device.check();
    device.close();
  },
);
