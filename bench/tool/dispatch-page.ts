/**
 * Dispatches of a decoded token at the shapes of Sa2VA-1B, counted from the step that would be recorded, without a
 * device; and the counts of a whole step by `npm run step-1b -- --write`.
 */
import { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { rowsPerBlock, type WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { blockParts, languageLinears } from "../../src/engine/model/language/language-families.ts";
import { type DecodeBuffers, decodeStep } from "../../src/engine/policy/decode/decode-step.ts";
import { type BoundLayers, type BoundModel, canJoin } from "../../src/engine/policy/decode/decode-weights.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { TRUE_DECODER } from "../../src/plugins/card/decode-rates.ts";

const RANK = 16;
/** Storage buffers of a program on most cards. */
const MOST_BUFFERS = 10;
const CASES = [
  { storage: "f16", rank: RANK, rows: 1 },
  { storage: "f16", rank: RANK, rows: 8 },
  { storage: "f16", rank: RANK, rows: 16 },
  { storage: "q4", rank: RANK, rows: 8 },
  { storage: "f16", rank: 0, rows: 8 },
] as const;

export interface TokenCount {
  readonly layer: number;
  readonly head: number;
  readonly sampling: number;
  readonly all: number;
  /** With two more dispatches for every low-rank branch, and one that samples. */
  readonly apart: number;
}

/** Represents any buffer: nothing is recorded. */
const BUFFER = { size: 0 } as GPUBuffer;

function matrix(storage: WeightStorage, rows: number, inSize: number): PackedMatrix {
  const step = rowsPerBlock(storage, inSize);
  const blocks = Array.from({ length: Math.ceil(rows / step) }, (_, block) => ({
    first: block * step,
    rows: Math.min(step, rows - block * step),
    skip: 0,
    values: BUFFER,
    scales: BUFFER,
    unit: 1,
  }));
  return new PackedMatrix([rows, inSize], storage, blocks);
}

function boundModel(storage: WeightStorage, rank: number): BoundModel {
  const config = TRUE_DECODER;
  const sizes = new Map(languageLinears(config).map((linear) => [linear.path, linear]));
  const group = (paths: readonly string[]): BoundLayers => {
    let outSize = 0;
    const products = paths.map((path, at) => {
      const linear = sizes.get(path) as { readonly inSize: number; readonly outSize: number };
      const first = outSize;
      outSize += linear.outSize;
      const stride = paths.length * rank;
      const lora = rank === 0 ? undefined : { b: BUFFER, rank, first: at * rank, stride, scale: 2 };
      const weight = matrix(storage, linear.outSize, linear.inSize);
      return { weight, bias: undefined, inSize: linear.inSize, outSize: linear.outSize, first, lora };
    });
    const joined = canJoin(products, MOST_BUFFERS) ? { factors: BUFFER, biasFirst: 0 } : undefined;
    return { products, outSize, down: rank === 0 ? undefined : { a: BUFFER, rank: paths.length * rank }, joined };
  };
  return {
    embedding: matrix(storage, config.vocabSize, config.hiddenSize),
    blocks: Array.from({ length: config.layers }, (_, layer) => {
      const { projections, output, gated, down } = blockParts(config, layer);
      return {
        norms: [BUFFER, BUFFER] as const,
        headNorms: undefined,
        projections: group(projections),
        output: group([output]),
        gated: group(gated),
        down: group([down]),
      };
    }),
    finalNorm: BUFFER,
    head: matrix(storage, config.vocabSize, config.hiddenSize),
    rank: 3 * rank,
  };
}

/** Dispatches of a sampled token in the forms for GPUs. */
export function tokenDispatches(storage: WeightStorage, rank: number, rows: number): TokenCount {
  const config = TRUE_DECODER;
  const count = (layers: number): { readonly all: number; readonly sampling: number } => {
    const model = boundModel(storage, rank);
    const caches = Array.from({ length: layers }, () => ({
      pastKeys: BUFFER,
      pastValues: BUFFER,
      ownKeys: BUFFER,
      ownValues: BUFFER,
    }));
    const buffers = new Proxy({ caches } as unknown as DecodeBuffers, {
      get: (own, name) => (name === "caches" ? own.caches : BUFFER),
    });
    const sizes = { rows, slots: rows, capacity: 1, places: 1, keys: 1 };
    const part = { ...model, blocks: model.blocks.slice(0, layers) };
    const step = decodeStep(config, part, buffers, sizes, FULL_SAMPLING, false, false);
    return {
      all: step.length,
      sampling: step.filter(({ program }) => program.name.startsWith("lab-decode-sample")).length,
    };
  };
  const [none, one, whole] = [count(0), count(1), count(config.layers)];
  const layer = one.all - none.all;
  const { projections, output, gated, down } = boundModel(storage, rank).blocks[0] as BoundModel["blocks"][number];
  const branches = [projections, output, gated, down];
  const more = branches.reduce((sum, { products, down: stacked, joined }) => {
    const parted = joined === undefined ? 0 : products.length - 1;
    return sum + parted + (stacked === undefined ? 0 : 2 * products.length - 1);
  }, 0);
  return {
    layer,
    head: none.all - none.sampling,
    sampling: none.sampling,
    all: whole.all,
    apart: whole.all + config.layers * more - (none.sampling - 1),
  };
}

/** The script's counts. */
export interface StepFacts {
  readonly adapter: string;
  readonly costs: Readonly<
    Record<
      string,
      Readonly<
        Record<"seconds" | "dispatches" | "submits" | "readBacks" | "readBytes" | "writtenBytes" | "peakBytes", number>
      >
    >
  >;
}

const UNITS = ["B", "kB", "MB", "GB"] as const;

function bytes(value: number): string {
  const unit = value < 1000 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(value) / 3));
  return `${unit === 0 ? value : Number((value / 1000 ** unit).toPrecision(3))} ${UNITS[unit]}`;
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

/** The page. @param step null before the script has run */
export function dispatchPage(step: StepFacts | null): string {
  const tokens = CASES.map(({ storage, rank, rows }) => {
    const { layer, head, sampling, all, apart } = tokenDispatches(storage, rank, rows);
    const adapter = rank === 0 ? "none" : `rank ${rank}`;
    return row([storage, adapter, rows, layer, head, sampling, all, apart]);
  });
  const phases = Object.entries(step?.costs ?? {}).map(([name, cost]) =>
    row([
      name,
      cost.dispatches,
      cost.submits,
      cost.readBacks,
      bytes(cost.readBytes),
      bytes(cost.writtenBytes),
      bytes(cost.peakBytes),
    ]),
  );
  const total = (name: "dispatches" | "submits" | "readBacks"): number =>
    Object.values(step?.costs ?? {}).reduce((sum, cost) => sum + cost[name], 0);
  return `# Dispatches at the shapes of Sa2VA-1B

Generated by \`npm run docs\`: tokens are counted from the list of dispatches that would be recorded on a GPU, phases are read
from \`1b-step.json\`, which \`npm run step-1b -- --write\` writes. Counts only; times are in [performance](../performance.md).

## A decoded token

A layer has two norms, rotation, scores, mixing and the gate besides its products. Queries, keys and values are one product, gate and
up another, with ten storage buffers in 8 or 4 bits too. First factors of layers with the same input
are one product, and each layer adds its second factor itself. *Apart* has a dispatch for every layer, two more for every branch
and one that samples.

| weights | adapter | rows | a layer | embedding, last norm and head | sampling | all | apart |
| --- | --- | --- | --- | --- | --- | --- | --- |
${tokens.join("\n")}
${
  step === null
    ? ""
    : `
## A step of both loops

One tile, groups of two, four new tokens, recomputation, f16, on ${step.adapter}.

| phase | dispatches | submits | read-backs | bytes read | bytes written | most bytes allocated |
| --- | --- | --- | --- | --- | --- | --- |
${phases.join("\n")}
${row(["all", total("dispatches"), total("submits"), total("readBacks"), "", "", ""])}
`
}`;
}
