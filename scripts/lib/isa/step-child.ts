/**
 * Takes a step of both loops at the shapes of Sa2VA-1B, or of a release on Qwen-VL, on the null card that the environment names, and prints as one
 * JSON object what it dispatched; started by null-card.ts. Results are zeros, but pipelines, limits, grids and
 * allocations are those of the card.
 */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ALL_LAYERS, madeConfig, madePicture, writeInputs } from "../../../bench/made-up/inputs.ts";
import { QWEN_RELEASES } from "../../../bench/made-up/qwen.ts";
import { CHECK_SETTINGS, readStep, takeSteps } from "../../../bench/made-up/step.ts";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { K_RUN } from "../../../src/engine/gpu/packed/half.ts";
import { gpuCounts } from "../../../src/engine/gpu/runtime/counters.ts";
import { waitsCounted, workCounted } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { nodeStore } from "../node/node-store.ts";
import { readLog, workOf } from "./assembly.ts";
import { type DispatchGroup, type DryStep, SA2VA_1B } from "./step-model.ts";

const [log = "", folder = "", model = SA2VA_1B, layers = String(ALL_LAYERS)] = process.argv.slice(2);
const shapes = { layers: Number(layers), release: QWEN_RELEASES.find((name) => name === model) };

interface Pipeline {
  readonly name: string;
  readonly threads: number;
  readonly log: string;
}

let read = 0;
function newLog(): string {
  const text = readFileSync(log, "utf8").slice(read);
  read += text.length;
  return text;
}

let phase = "start";
const groups = new Map<string, DispatchGroup>();
const pipelines = new Map<object, Pipeline>();
let last: DispatchGroup | undefined;
let counted = 0;

/** Work is counted after its dispatch is recorded. */
function settle(): void {
  if (last !== undefined) {
    last.multiplyAdds += workCounted() - counted;
    last.most = Math.max(last.most, workCounted() - counted);
  }
  counted = workCounted();
}

/** Records pipelines and dispatches of all devices; the engine's own counters wrap these methods. */
async function watch(): Promise<void> {
  const { globals } = (await import("webgpu")) as unknown as {
    readonly globals: Record<string, { readonly prototype: unknown }>;
  };
  const device = globals.GPUDevice?.prototype as GPUDevice;
  const pass = globals.GPUComputePassEncoder?.prototype as GPUComputePassEncoder;
  const sources = new WeakMap<object, string>();
  const sizes = new WeakMap<object, number>();
  const { createShaderModule, createComputePipeline, createBindGroup } = device;
  const { setPipeline, setBindGroup, dispatchWorkgroups } = pass;
  device.createShaderModule = function (descriptor) {
    const module = createShaderModule.call(this, descriptor);
    sources.set(module, descriptor.code);
    return module;
  };
  device.createComputePipeline = function (descriptor) {
    newLog();
    const pipeline = createComputePipeline.call(this, descriptor);
    const code = sources.get(descriptor.compute.module) ?? "";
    const [, x = "1", y = "1", z = "1"] = /@workgroup_size\((\d+)[, ]*(\d*)[, ]*(\d*)\)/.exec(code) ?? [];
    const threads = [x, y, z].reduce((product, side) => product * Number(side || 1), 1);
    pipelines.set(pipeline, { name: descriptor.label ?? "", threads, log: newLog() });
    return pipeline;
  };
  device.createComputePipelineAsync = async function (descriptor) {
    return this.createComputePipeline(descriptor);
  };
  device.createBindGroup = function (descriptor) {
    const group = createBindGroup.call(this, descriptor);
    let bytes = 0;
    // A buffer in place of one that the program does not read counts once.
    const found = new Set<GPUBuffer>();
    for (const { resource } of descriptor.entries) {
      if (!("buffer" in resource) || found.has(resource.buffer)) continue;
      found.add(resource.buffer);
      bytes += resource.size ?? resource.buffer.size - (resource.offset ?? 0);
    }
    sizes.set(group, bytes);
    return group;
  };
  const current = new WeakMap<object, { pipeline?: object; bytes?: number }>();
  const of = (encoder: object): { pipeline?: object; bytes?: number } => {
    const known = current.get(encoder) ?? {};
    current.set(encoder, known);
    return known;
  };
  pass.setPipeline = function (pipeline) {
    of(this).pipeline = pipeline;
    return setPipeline.call(this, pipeline);
  };
  pass.setBindGroup = function (this: GPUComputePassEncoder, ...given: Parameters<typeof setBindGroup>) {
    of(this).bytes = sizes.get(given[1] as object) ?? 0;
    return setBindGroup.apply(this, given);
  } as typeof setBindGroup;
  pass.dispatchWorkgroups = function (x, y = 1, z = 1) {
    settle();
    const { pipeline, bytes = 0 } = of(this);
    const { name = "", threads = 1 } = pipelines.get(pipeline ?? {}) ?? {};
    const count = x * y * z;
    const key = `${phase} ${name} ${count}`;
    const none = { dispatches: 0, multiplyAdds: 0, most: 0, bytes: 0 };
    last = groups.get(key) ?? { phase, name, workgroups: count, threads, ...none };
    groups.set(key, last);
    last.dispatches++;
    last.bytes += bytes;
    return dispatchWorkgroups.call(this, x, y, z);
  };
}

await watch();
try {
  const inputs = { model: join(folder, "model"), shards: join(folder, "shards") };
  const runs = join(folder, "runs");
  mkdirSync(runs, { recursive: true });
  writeInputs(inputs, shapes);
  const store = nodeStore(runs);
  const settings = requireConfig(CHECK_SETTINGS, presetConfig("real"), "isa --step");
  const before = { waits: waitsCounted(), reads: gpuCounts().readBacks };
  const taken = await takeSteps(inputs, settings, store, (event) => {
    if (event.type !== "phase") return;
    settle();
    phase = event.loop == null ? event.phase : `${event.phase}, loop ${event.loop}`;
  });
  settle();
  if (workCounted() === 0) throw new LabError("internal", "The step counted no multiply-adds");
  const { adapter, peak } = await readStep(store, taken, parseSa2vaConfig(madeConfig(shapes)), [madePicture(shapes)]);
  const shares = [...pipelines.values()].map(({ name, log: text }) => {
    const [found] = readLog(text);
    const steps = /(?:matmul|ward)-tiles-\d+-\d+-(\d+)-/.exec(name)?.[1];
    const trips = steps === undefined ? undefined : { load: 1, multiply: Number(steps) / K_RUN };
    const work = found && workOf(found.assembly, trips);
    return [name, work ? work.multiplyAdds / Math.max(1, work.vector) : 0] as const;
  });
  const step: DryStep = {
    model,
    adapter,
    layers: shapes.layers,
    peak,
    waits: { pace: waitsCounted() - before.waits, reads: gpuCounts().readBacks - before.reads },
    pipelines: pipelines.size,
    groups: [...groups.values()],
    shares: Object.fromEntries(shares),
  };
  process.stdout.write(`${JSON.stringify(step)}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
