/** One decoding step of a batch as a list of prepared dispatches: a token in, the next one drawn. */

import {
  EMBED,
  HEAD_NORM,
  headBlocks,
  mixProgram,
  NORM,
  ROTATE,
  scoreLanes,
  scoresProgram,
  sharedHeads,
} from "../../gpu/decode/attend.ts";
import { POINT_LANES, withReduction } from "../../gpu/decode/lanes.ts";
import { PACKED_STEP, packedEmbedProgram, packedLinearProgram } from "../../gpu/decode/packed-products.ts";
import { GATE, linearProgram } from "../../gpu/decode/products.ts";
import { type SlotBlock, slotBlock } from "../../gpu/decode/slot-block.ts";
import { STAGED_BYTES } from "../../gpu/decode/staged.ts";
import { builtInForms, formLimits } from "../../gpu/forms/active.ts";
import { type PackedBlock, PackedMatrix } from "../../gpu/packed/matrix.ts";
import { buffersOf } from "../../gpu/packed/product.ts";
import { paddedWidth } from "../../gpu/packed/storage.ts";
import { broadcastLanes } from "../../gpu/runtime/custom-op.ts";
import { flatGrid } from "../../gpu/runtime/program.ts";
import type { Prepared } from "../../gpu/runtime/recording.ts";
import { DISPATCH_WORK } from "../../gpu/runtime/work-budget.ts";
import type { LanguageConfig } from "../../model/language/config-language.ts";
import { headRows } from "../../model/language/language-families.ts";
import type { BoundLayers, BoundModel, BoundProduct } from "./decode-weights.ts";
import { type SampleBuffers, type SamplerSettings, sampleStep } from "./sampler.ts";

/** Size of one run of the step. */
export interface DecodeLoad {
  /** Slots in use. */
  readonly slots: number;
  /** Keys of the longest slot, including its new token. */
  readonly keys: number;
}

/** Sizes of a batch. */
export interface DecodeSizes {
  readonly rows: number;
  /** Slots allocated in the buffers: rows rounded up to whole blocks. */
  readonly slots: number;
  /** Tokens that a row's own cache holds: its tail and the new tokens. */
  readonly capacity: number;
  /** Positions per row of the prefixes' cache. */
  readonly places: number;
  /** Keys allocated per row of scores. */
  readonly keys: number;
}

/** Activations and state; each buffer is written before it is read. */
export interface DecodeBuffers extends SampleBuffers {
  /** Embeddings that rows start with, [rows, D]. */
  readonly given: GPUBuffer;
  /** cos and sin of every position, [positions, 2, d/2]. */
  readonly angles: GPUBuffer;
  readonly x: GPUBuffer;
  readonly normed: GPUBuffer;
  /** Queries, keys and values side by side. */
  readonly projected: GPUBuffer;
  /** Inner result of a low-rank branch. */
  readonly branch: GPUBuffer;
  readonly query: GPUBuffer;
  readonly scores: GPUBuffer;
  readonly mixed: GPUBuffer;
  /** Gate and up side by side. */
  readonly pairs: GPUBuffer;
  readonly gated: GPUBuffer;
  /** Bound in place of absent inputs. */
  readonly empty: GPUBuffer;
  /** Per layer: keys and values of the prompts and of new tokens. */
  readonly caches: readonly {
    readonly pastKeys: GPUBuffer;
    readonly pastValues: GPUBuffer;
    readonly ownKeys: GPUBuffer;
    readonly ownValues: GPUBuffer;
  }[];
}

export function decodeStep(
  config: LanguageConfig,
  model: BoundModel,
  buffers: DecodeBuffers,
  sizes: DecodeSizes,
  sampler: SamplerSettings,
  greedy: boolean,
  software: boolean,
): Prepared<DecodeLoad>[] {
  const { hiddenSize, mlpSize, heads, kvHeads, headSize, vocabSize } = config;
  const block = slotBlock(sizes.slots, software, broadcastLanes());
  const stages = formLimits().maxComputeWorkgroupStorageSize >= STAGED_BYTES;
  /** The block of a packed product. */
  const packedBlock = (columns: number): SlotBlock =>
    slotBlock(sizes.slots, software, broadcastLanes(), stages ? builtInForms().decodeTiles(columns) : 1);
  const list: Prepared<DecodeLoad>[] = [];
  /** Workgroups of a program with one thread per point of a slot. */
  const points =
    (count: number): Prepared<DecodeLoad>["grid"] =>
    ({ slots }) =>
      flatGrid(Math.ceil((slots * count) / POINT_LANES));

  const norm = (weight: GPUBuffer): void => {
    const { program, groups } = withReduction(NORM, software);
    list.push({
      program,
      buffers: [buffers.x, weight, buffers.normed],
      uniforms: [sizes.slots, hiddenSize / 4, config.rmsNormEps],
      grid: ({ slots }) => flatGrid(groups(slots)),
    });
  };
  /** One product, in as many dispatches as its size requires. */
  const product = (x: GPUBuffer, result: GPUBuffer, stride: number, add: boolean, given: BoundProduct): void => {
    const { inSize, outSize, first, weight, bias, lora } = given;
    if (weight instanceof PackedMatrix) {
      packedProduct(x, result, stride, add, given, weight);
      return;
    }
    const { program, groups } = withReduction(linearProgram(block), software);
    const tiles = Math.ceil(outSize / 4);
    const most = Math.max(1, Math.floor(DISPATCH_WORK / (4 * inSize * sizes.slots)));
    for (let tile0 = 0; tile0 < tiles; tile0 += most) {
      const count = Math.min(most, tiles - tile0);
      const flags = [Number(bias !== undefined), Number(add)];
      list.push({
        program,
        buffers: [x, weight, bias ?? buffers.empty, ...addendBuffers(lora), result],
        uniforms: [count, tile0, inSize / 4, outSize, stride, first, ...addendUniforms(lora, 1), ...flags],
        grid: ({ slots }) => [groups(count), 1, Math.ceil(slots / block.slots)],
      });
    }
  };
  /** One product with a packed matrix, block by block. */
  const packedProduct = (
    x: GPUBuffer,
    result: GPUBuffer,
    stride: number,
    add: boolean,
    { inSize, outSize, first, bias, lora }: BoundProduct,
    { storage, blocks }: PackedMatrix,
  ): void => {
    const { program, groups } = withReduction(packedLinearProgram(storage, packedBlock(outSize)), software);
    const most = Math.max(1, Math.floor(DISPATCH_WORK / (4 * inSize * sizes.slots)));
    const units = [inSize / PACKED_STEP, paddedWidth(storage, inSize) / PACKED_STEP];
    for (const part of blocks) {
      const tiles = Math.ceil(part.rows / 4);
      for (let tile0 = 0; tile0 < tiles; tile0 += most) {
        const count = Math.min(most, tiles - tile0);
        const place = [part.skip, part.first, part.rows, stride, first];
        const flags = [Number(bias !== undefined), Number(add)];
        list.push({
          program,
          buffers: [x, ...buffersOf(part), bias ?? buffers.empty, ...addendBuffers(lora), result],
          uniforms: [count, tile0, ...units, ...place, part.unit, ...addendUniforms(lora, part.unit), ...flags],
          grid: ({ slots }) => [groups(count), 1, Math.ceil(slots / block.slots)],
        });
      }
    }
  };
  const addendBuffers = (lora: BoundProduct["lora"]): GPUBuffer[] =>
    lora === undefined ? [buffers.empty, buffers.empty] : [buffers.branch, lora.b];
  /** @param factor by which the program multiplies its sums */
  const addendUniforms = (lora: BoundProduct["lora"], factor: number): number[] =>
    lora === undefined ? [0, 0, 0, 0] : [lora.rank / 4, lora.stride / 4, lora.first / 4, lora.scale / factor];
  /** Linear layers with the same input in one dispatch, or as many as their size requires. */
  const joinedProduct = (x: GPUBuffer, result: GPUBuffer, { products, outSize, joined }: BoundLayers): void => {
    const [one, two, three = two] = products as [BoundProduct, BoundProduct, BoundProduct?];
    const parts = [one, two, three as BoundProduct];
    const { inSize, lora, bias } = one;
    const ends = [one.outSize, parts.length === products.length ? one.outSize + two.outSize : outSize];
    const packed = parts.flatMap(({ weight }) => (weight instanceof PackedMatrix ? [weight] : []));
    const blocksOf = packed.map((matrix) => matrix.blocks[0] as PackedBlock);
    const [matrix] = packed;
    const { program, groups } = withReduction(
      matrix === undefined
        ? linearProgram(block, true)
        : packedLinearProgram(matrix.storage, packedBlock(outSize), true),
      software,
    );
    const weights = matrix === undefined ? parts.map(({ weight }) => weight as GPUBuffer) : blocksOf.flatMap(buffersOf);
    const factors = joined?.factors ?? buffers.empty;
    const tiles = outSize / 4;
    const most = Math.max(1, Math.floor(DISPATCH_WORK / (4 * inSize * sizes.slots)));
    for (let tile0 = 0; tile0 < tiles; tile0 += most) {
      const count = Math.min(most, tiles - tile0);
      const last = [...addendUniforms(lora, 1), Number(bias !== undefined), 0, ...ends, joined?.biasFirst ?? 0];
      list.push({
        program,
        buffers: [x, ...weights, lora === undefined ? buffers.empty : buffers.branch, factors, result],
        uniforms:
          matrix === undefined
            ? [count, tile0, inSize / 4, outSize, outSize, 0, ...last]
            : [
                ...[count, tile0, inSize / PACKED_STEP, paddedWidth(matrix.storage, inSize) / PACKED_STEP],
                ...[blocksOf[0]?.skip ?? 0, 0, outSize, outSize, 0, blocksOf[0]?.unit ?? 1, ...last],
                ...blocksOf.slice(1).map(({ skip }) => skip),
                ...blocksOf.slice(1).map(({ unit }) => unit),
              ],
        grid: ({ slots }) => [groups(count), 1, Math.ceil(slots / block.slots)],
      });
    }
  };
  /**
   * Linear layers with the same input; the first factors of their branches are one product. With `add`, they are added
   * to the result.
   */
  const layers = (x: GPUBuffer, given: BoundLayers, result: GPUBuffer, add: boolean): void => {
    const { down, products, outSize } = given;
    if (down !== undefined) {
      const inSize = (products[0] as BoundProduct).inSize;
      const inner = { weight: down.a, bias: undefined, inSize, outSize: down.rank, first: 0, lora: undefined };
      product(x, buffers.branch, down.rank, false, inner);
    }
    if (given.joined !== undefined) joinedProduct(x, result, given);
    else for (const own of products) product(x, result, outSize, add, own);
  };

  const table = model.embedding;
  if (table instanceof PackedMatrix) {
    const units = [hiddenSize / PACKED_STEP, paddedWidth(table.storage, hiddenSize) / PACKED_STEP];
    for (const part of table.blocks) {
      list.push({
        program: packedEmbedProgram(table.storage),
        buffers: [...buffersOf(part), buffers.given, buffers.state, buffers.x],
        uniforms: [sizes.slots, ...units, part.skip, part.first, part.rows, part.unit],
        grid: points(hiddenSize / PACKED_STEP),
      });
    }
  } else {
    list.push({
      program: EMBED,
      buffers: [table, buffers.given, buffers.state, buffers.x],
      uniforms: [sizes.slots, hiddenSize / 4],
      grid: points(hiddenSize / 4),
    });
  }
  const cacheUniforms = [headSize / 4, heads, kvHeads, sizes.places, sizes.capacity, sizes.keys];
  const lanes = scoreLanes(software);
  const shared = sharedHeads(heads, kvHeads, software);
  const blocks = headBlocks(heads, kvHeads, shared);
  const placed = headRows(config).map(({ first, perGroup, groupStride }) => [first / 4, perGroup, groupStride / 4]);
  model.blocks.forEach((own, layer) => {
    const cache = buffers.caches[layer] as DecodeBuffers["caches"][number];
    norm(own.norms[0]);
    layers(buffers.normed, own.projections, buffers.projected, false);
    if (own.headNorms !== undefined) {
      const { program, groups } = withReduction(HEAD_NORM, software);
      const each = heads + kvHeads;
      list.push({
        program,
        buffers: [...own.headNorms, buffers.projected],
        uniforms: [
          sizes.slots * each,
          headSize / 4,
          config.rmsNormEps,
          heads,
          kvHeads,
          own.projections.outSize / 4,
          ...placed.slice(0, 2).flat(),
        ],
        grid: ({ slots }) => flatGrid(groups(slots * each)),
      });
    }
    list.push({
      program: ROTATE,
      buffers: [buffers.projected, buffers.angles, buffers.state, buffers.query, cache.ownKeys, cache.ownValues],
      uniforms: [
        sizes.slots,
        headSize / 8,
        heads,
        kvHeads,
        own.projections.outSize / 4,
        sizes.capacity,
        ...placed.flat(),
      ],
      grid: points((heads + 2 * kvHeads) * (headSize / 8)),
    });
    list.push({
      program: scoresProgram(lanes, shared),
      buffers: [buffers.query, cache.pastKeys, cache.ownKeys, buffers.state, buffers.scores],
      uniforms: [...cacheUniforms, 1 / Math.sqrt(headSize)],
      grid: ({ slots, keys }) => [Math.ceil(keys / (2 * lanes)), blocks, slots],
    });
    const mix = withReduction(mixProgram(shared), software);
    const tiles = (blocks * headSize) / 8;
    list.push({
      program: mix.program,
      buffers: [buffers.scores, cache.pastValues, cache.ownValues, buffers.state, buffers.mixed],
      uniforms: [sizes.slots * tiles, ...cacheUniforms],
      grid: ({ slots }) => flatGrid(mix.groups(slots * tiles)),
    });
    layers(buffers.mixed, own.output, buffers.x, true);
    norm(own.norms[1]);
    layers(buffers.normed, own.gated, buffers.pairs, false);
    list.push({
      program: GATE,
      buffers: [buffers.pairs, buffers.gated],
      uniforms: [sizes.slots, mlpSize / 4],
      grid: points(mlpSize / 4),
    });
    layers(buffers.gated, own.down, buffers.x, true);
  });
  norm(model.finalNorm);
  const head = {
    weight: model.head,
    bias: undefined,
    inSize: hiddenSize,
    outSize: vocabSize,
    first: 0,
    lora: undefined,
  };
  product(buffers.normed, buffers.logits, vocabSize, false, head);
  list.push(...sampleStep(buffers, { ...sizes, vocabSize }, sampler, greedy, software));
  return list;
}
