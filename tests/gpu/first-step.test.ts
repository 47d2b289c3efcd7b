/** The programs that a first step of the demo compiles: each additional one delays the first update. */
import { beforeAll, describe, expect, it } from "vitest";
import { runSteps } from "../../bench/suites/grpo.ts";
import { nodePocket } from "../../bench/tool/node-place.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { withReduction } from "../../src/engine/gpu/decode/lanes.ts";
import { linearProgram } from "../../src/engine/gpu/decode/products.ts";
import { roomFor, slotBlock } from "../../src/engine/gpu/decode/slot-block.ts";
import { precompiledPrograms } from "../../src/engine/gpu/precompile.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { compile, compileAhead, type GpuProgram } from "../../src/engine/gpu/runtime/pipelines.ts";
import { runProgram } from "../../src/engine/gpu/runtime/program.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openGpuAgain, useGpu } from "../support/gpu.ts";

let device: EngineDevice;
beforeAll(async () => {
  device = await useGpu();
});

const program = (name: string, expression: string): GpuProgram => ({
  name,
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32" },
  workgroup: [8, 1],
  body: `let i = group.x * 8u + local.x; if (i < u.size) { result[i] = ${expression}; }`,
});

async function run(given: GpuProgram): Promise<number[]> {
  const x = tf.tensor1d([1, 2, 3]);
  const made = tf
    .engine()
    .makeTensorFromTensorInfo(runProgram(given, [x], [{ shape: [3] }], [3], [1, 1, 1])[0] as never);
  const values = Array.from(await made.data());
  tf.dispose([x, made]);
  return values;
}

describe("programs compiled ahead", () => {
  it("are the ones that are used, also when they are needed before they are there", async () => {
    const [one, other] = [program("test-ahead-1", "x[i] * 2.0"), program("test-ahead-2", "x[i] + 7.0")];
    await compileAhead(device.device, [one]);
    const create = device.device.createComputePipeline;
    device.device.createComputePipeline = () => expect.fail("compiled again");
    try {
      expect(await run(one)).toEqual([2, 4, 6]);
    } finally {
      device.device.createComputePipeline = create;
    }
    const pending = compileAhead(device.device, [other, other, one]);
    const early = compile(device.device, other);
    expect(await run(other)).toEqual([8, 9, 10]);
    await pending;
    expect(compile(device.device, other)).toBe(early);
    device.check();
  });

  it("fail as loudly as others", async () => {
    const wrong = program("test-ahead-wrong", "nobody(x[i])");
    await compileAhead(device.device, [wrong]);
    expect(() => device.check()).toThrow(/nobody/);
    await run(wrong);
    expect(() => device.check()).toThrow(/test-ahead-wrong/);
  });

  it("settle when the device is gone", async () => {
    const other = await openNodeDevice();
    const pending = compileAhead(other.device, [program("test-ahead-gone", "x[i] / 3.0")]);
    other.device.destroy();
    await pending;
    expect(await other.lost).toMatch(/lost/);
    other.close();
    device = await openGpuAgain();
  });

  it("are many, each of its own name", () => {
    const names = precompiledPrograms().map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThan(12);
  });

  it("are on a card those of one group and of the demo's four, which it takes eight slots at a time", () => {
    setAdapterKind(false);
    const names = precompiledPrograms().map(({ name }) => name);
    const taken = [8, 32].map((rows) => withReduction(linearProgram(slotBlock(roomFor(rows), false, 0)), false));
    setAdapterKind(true);
    for (const { program } of taken) expect(names).toContain(program.name);
  });
});

/**
 * Pipelines of a first demo step on a software adapter; raise it only with a reason. Products with a fused activation
 * have one program for all kinds and save a dispatch and a tensor each.
 */
const MOST = 84;

it("a first step of the demo compiles few programs, and a second one almost none", async () => {
  // Our programs have names; a descriptor does not distinguish the backend's.
  const made = new Set<string>();
  let stock = 0;
  const gpu = device.device;
  const create: GPUDevice["createComputePipeline"] = gpu.createComputePipeline.bind(gpu);
  const createAhead: GPUDevice["createComputePipelineAsync"] = gpu.createComputePipelineAsync.bind(gpu);
  gpu.createComputePipeline = (descriptor) => {
    made.add(descriptor.label ?? "");
    stock += descriptor.layout === "auto" ? 1 : 0;
    return create(descriptor);
  };
  gpu.createComputePipelineAsync = (descriptor) => {
    made.add(descriptor.label ?? "");
    return createAhead(descriptor);
  };
  const count = (): number => stock + [...made].filter((label) => label.startsWith("lab-")).length;
  const counts: number[] = [];
  await runSteps({
    device,
    reopen: openGpuAgain,
    pocket: await nodePocket(),
    steps: 2,
    changes: { promptsPerStep: 3 },
    onStep: () => counts.push(count()) < 2,
  });
  device.check();
  const [first, both] = counts as [number, number];
  expect(first, [...made].join("\n")).toBeLessThanOrEqual(MOST);
  expect(first).toBeGreaterThan(20);
  expect(both - first).toBeLessThanOrEqual(6);
});
