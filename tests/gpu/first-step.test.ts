/** What a first step of the demo has to compile: every program more is time before anything is learnt. */
import { beforeAll, expect, it } from "vitest";
import { runSteps } from "../../scripts/bench/suites/grpo.ts";
import { nodePocket } from "../../scripts/bench/tool/node-place.ts";
import type { EngineDevice } from "../../src/engine/gpu/device.ts";
import { openGpuAgain, useGpu } from "../support/gpu.ts";

let device: EngineDevice;
beforeAll(async () => {
  device = await useGpu();
});

/** Pipelines of a first demo step on a software adapter; raise it only with a reason. */
const MOST = 84;

it("a first step of the demo compiles few programs, and a second one hardly any", async () => {
  const made: string[] = [];
  const gpu = device.device;
  const create: GPUDevice["createComputePipeline"] = gpu.createComputePipeline.bind(gpu);
  gpu.createComputePipeline = (descriptor) => {
    made.push(descriptor.label ?? "");
    return create(descriptor);
  };
  const counts: number[] = [];
  await runSteps({
    device,
    reopen: openGpuAgain,
    pocket: await nodePocket(),
    steps: 2,
    onStep: () => counts.push(made.length) < 2,
  });
  device.check();
  const [first, both] = counts as [number, number];
  expect(first, made.join("\n")).toBeLessThanOrEqual(MOST);
  expect(first).toBeGreaterThan(20);
  expect(both - first, made.slice(first).join("\n")).toBeLessThanOrEqual(6);
});
