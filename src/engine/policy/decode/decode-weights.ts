/**
 * The weights of a decoding step as GPU buffers, and whether the decoding programs support the model. For a small model
 * the low-rank branches are merged into copies of the matrices, and layers with the same input are stacked, which
 * halves the dispatches. For a large model the first factors of layers with the same input are stacked into one
 * additional product, and each layer adds its own second factor; no matrix is copied.
 */
import { LabError } from "../../errors.ts";
import { joinedBuffers, MOST_JOINED } from "../../gpu/decode/joined.ts";
import { POINT_LANES } from "../../gpu/decode/lanes.ts";
import { PACKED_STEP } from "../../gpu/decode/packed-products.ts";
import { FOLD } from "../../gpu/decode/products.ts";
import { PackedMatrix } from "../../gpu/packed/matrix.ts";
import { hasScales } from "../../gpu/packed/storage.ts";
import { bufferOf, flatGrid } from "../../gpu/runtime/program.ts";
import { type RawBuffers, Recording } from "../../gpu/runtime/recording.ts";
import type { Tensor } from "../../gpu/tf.ts";
import type { LanguageConfig } from "../../model/language/config-language.ts";
import { headMatrix } from "../../model/language/language.ts";
import { blockParts, finalNorm, languageFamily, languageLinears } from "../../model/language/language-families.ts";
import { ropeSwitch } from "../../model/language/rope-scaling.ts";
import type { Matrix, Weights } from "../../model/weights/weights.ts";

/** A matrix in the form that a step reads: f32 rows in one buffer, or packed blocks. */
type BoundMatrix = GPUBuffer | PackedMatrix;

/** result[:, first …] (+)= scale · x Wᵀ (+ bias), in one dispatch, or one per block. */
export interface BoundProduct {
  readonly weight: BoundMatrix;
  readonly bias: GPUBuffer | undefined;
  readonly inSize: number;
  readonly outSize: number;
  /** First output. */
  readonly first: number;
  /**
   * Low-rank branch: the second factor, which reads columns [first, first + rank) of the `stride` columns of inner
   * results.
   */
  readonly lora:
    | {
        readonly b: GPUBuffer;
        readonly rank: number;
        readonly first: number;
        readonly stride: number;
        readonly scale: number;
      }
    | undefined;
}

/** Linear layers with the same input. */
export interface BoundLayers {
  readonly products: readonly BoundProduct[];
  readonly outSize: number;
  /** First factors of all branches, stacked; undefined without branches. */
  readonly down: { readonly a: GPUBuffer; readonly rank: number } | undefined;
  /**
   * Set if the products run in one dispatch: the second factors one after another, then the biases, starting at the
   * group of four values `biasFirst`. The buffer is undefined if there are neither.
   */
  readonly joined: { readonly factors: GPUBuffer | undefined; readonly biasFirst: number } | undefined;
}

/**
 * Whether layers with the same input can run in one dispatch: they have the same storage, rank and bias, and one block
 * each.
 * @param most storage buffers of a program on this device
 */
export function canJoin(products: readonly BoundProduct[], most: number): boolean {
  const [one] = products;
  if (one === undefined || products.length < 2 || products.length > MOST_JOINED) return false;
  const kind = ({ weight }: BoundProduct): string => (weight instanceof PackedMatrix ? weight.storage : "tensor");
  const scaled = one.weight instanceof PackedMatrix && hasScales(one.weight.storage);
  return (
    joinedBuffers(scaled ? 2 : 1) <= most &&
    products.every(
      (product) =>
        kind(product) === kind(one) &&
        (!(product.weight instanceof PackedMatrix) || product.weight.blocks.length === 1) &&
        product.outSize % 4 === 0 &&
        product.lora?.rank === one.lora?.rank &&
        product.lora?.scale === one.lora?.scale &&
        (product.bias === undefined) === (one.bias === undefined),
    )
  );
}

interface BoundBlock {
  readonly norms: readonly [GPUBuffer, GPUBuffer];
  /** Per-head norms of queries and keys. */
  readonly headNorms: readonly [query: GPUBuffer, key: GPUBuffer] | undefined;
  readonly projections: BoundLayers;
  readonly output: BoundLayers;
  readonly gated: BoundLayers;
  readonly down: BoundLayers;
}

export interface BoundModel {
  readonly embedding: BoundMatrix;
  readonly blocks: readonly BoundBlock[];
  readonly finalNorm: GPUBuffer;
  readonly head: BoundMatrix;
  /** Largest sum of ranks over layers with the same input whose branches are not merged. */
  readonly rank: number;
}

/** Maximum bytes of matrix copies. */
export const FOLD_BYTES = 64 * 2 ** 20;

/**
 * Why the custom programs cannot decode a model; undefined if they can.
 * @param length positions of the longest sequence
 * @param bindingBytes largest buffer a program may read
 * @param oneLength whether all tokens are rotated as in a sequence of one length
 */
export function decodeBlocker(
  weights: Weights,
  config: LanguageConfig,
  length: number,
  bindingBytes: number,
  oneLength = false,
): string | undefined {
  const { hiddenSize, mlpSize, headSize, heads } = config;
  if (hiddenSize % 4 !== 0 || mlpSize % 4 !== 0 || headSize % 8 !== 0 || (heads * headSize) % 4 !== 0) {
    return "sizes that are not read four at a time";
  }
  const change = ropeSwitch(config.rope);
  if (!oneLength && change !== undefined && length > change) return "rotary angles that change with the length";
  if (config.window !== undefined && length > config.window.size) return "a sliding window shorter than the sequence";
  const paths = languageLinears(config).map(({ path }) => path);
  if (paths.some((path) => (weights.lora(path)?.a.shape[0] ?? 0) % 4 !== 0))
    return "a rank that is not a multiple of four";
  const matrices: Matrix[] = [
    weights.matrix(languageFamily(config).embedding),
    headMatrix(weights),
    ...paths.map((path) => weights.matrix(`${path}.weight`)),
  ];
  const packed = matrices.filter((matrix) => matrix instanceof PackedMatrix);
  if (packed.some(({ shape }) => shape[1] % PACKED_STEP !== 0)) return "sizes that are not read eight at a time";
  const plain = matrices.filter((matrix): matrix is Tensor => !(matrix instanceof PackedMatrix));
  if (plain.some((matrix) => matrix.dtype !== "float32")) return "weights of another type";
  const bytes = [...plain.map((matrix) => 4 * matrix.size), ...packed.flatMap((matrix) => matrix.blockBytes)];
  if (bytes.some((one) => one > bindingBytes)) return "a matrix above the adapter's largest binding";
  return undefined;
}

/**
 * Collects all buffers. The work that merges branches is recorded into `encoder`.
 * @param foldBytes maximum bytes of matrix copies
 * @param joins whether unmerged layers with the same input run in one dispatch
 */
export function bindModel(
  weights: Weights,
  config: LanguageConfig,
  device: GPUDevice,
  buffers: RawBuffers,
  encoder: GPUCommandEncoder,
  foldBytes: number,
  joins: boolean,
): BoundModel {
  const bytes = languageLinears(config).reduce((sum, { inSize, outSize }) => sum + 4 * inSize * outSize, 0);
  // A merged copy of a packed matrix would be unpacked.
  const packed = languageLinears(config).some(({ path }) => weights.matrix(`${path}.weight`) instanceof PackedMatrix);
  const layers =
    bytes <= foldBytes && !packed
      ? folding(weights, config, device, buffers, encoder)
      : {
          of: referring(weights, config, buffers, encoder, joins ? device.limits.maxStorageBuffersPerShaderStage : 0),
          end() {},
        };
  const blocks = Array.from({ length: config.layers }, (_, layer): BoundBlock => {
    const { norms, headNorms, projections, output, gated, down } = blockParts(config, layer);
    const both = ([first, second]: typeof norms): BoundBlock["norms"] => [
      bufferOf(weights.get(first)),
      bufferOf(weights.get(second)),
    ];
    return {
      norms: both(norms),
      headNorms: headNorms === undefined ? undefined : both(headNorms),
      projections: layers.of(`qkv ${layer}`, projections),
      output: layers.of(`output ${layer}`, [output]),
      gated: layers.of(`gated ${layer}`, gated),
      down: layers.of(`down ${layer}`, [down]),
    };
  });
  layers.end();
  const groups = blocks.flatMap((block) => [block.projections, block.output, block.gated, block.down]);
  return {
    embedding: boundMatrix(weights.matrix(languageFamily(config).embedding)),
    blocks,
    finalNorm: bufferOf(weights.get(finalNorm(config))),
    head: boundMatrix(headMatrix(weights)),
    rank: Math.max(0, ...groups.map(({ down }) => down?.rank ?? 0)),
  };
}

function boundMatrix(matrix: Matrix): BoundMatrix {
  return matrix instanceof PackedMatrix ? matrix : bufferOf(matrix);
}

/** @throws LabError("internal") for packed weights, which are never copied */
function matrixBuffer(matrix: Matrix): GPUBuffer {
  if (matrix instanceof PackedMatrix) throw new LabError("internal", "Packed weights cannot be bound as one buffer");
  return bufferOf(matrix);
}

type Layers = (name: string, paths: readonly string[]) => BoundLayers;

function sizesByPath(config: LanguageConfig): (path: string) => { readonly inSize: number; readonly outSize: number } {
  const known = new Map(languageLinears(config).map((linear) => [linear.path, linear]));
  return (path) => known.get(path) ?? { inSize: 0, outSize: 0 };
}

/**
 * Uses the stored matrices themselves; only factors and biases are copied, if several layers have the same input.
 * @param most storage buffers of a program that joins layers
 */
function referring(
  weights: Weights,
  config: LanguageConfig,
  buffers: RawBuffers,
  encoder: GPUCommandEncoder,
  most: number,
): Layers {
  const sizeOf = sizesByPath(config);
  return (name, paths) => {
    const factors = paths.flatMap((path) => weights.lora(path)?.a ?? []);
    const stride = factors.reduce((sum, a) => sum + (a.shape[0] as number), 0);
    let [first, rankFirst] = [0, 0];
    const products = paths.map((path): BoundProduct => {
      const { inSize, outSize } = sizeOf(path);
      const bias = weights.find(`${path}.bias`);
      const lora = weights.lora(path);
      const product = {
        weight: boundMatrix(weights.matrix(`${path}.weight`)),
        bias: bias === undefined ? undefined : bufferOf(bias),
        inSize,
        outSize,
        first,
        lora:
          lora === undefined
            ? undefined
            : { b: bufferOf(lora.b), rank: lora.a.shape[0] as number, first: rankFirst, stride, scale: lora.scale },
      };
      first += outSize;
      rankFirst += product.lora?.rank ?? 0;
      return product;
    });
    const down = factors.length === 0 ? undefined : { a: stacked(`${name} first factors`, factors), rank: stride };
    if (!canJoin(products, most)) return { products, outSize: first, down, joined: undefined };
    const second = paths.flatMap((path) => weights.lora(path)?.b ?? []);
    const behind = [...second, ...paths.flatMap((path) => weights.find(`${path}.bias`) ?? [])];
    return {
      products,
      outSize: first,
      down,
      joined: {
        factors: behind.length === 0 ? undefined : stacked(`${name} second factors`, behind),
        biasFirst: second.reduce((sum, { size }) => sum + size / 4, 0),
      },
    };
  };

  function stacked(name: string, factors: readonly Tensor[]): GPUBuffer {
    const parts = factors.map(bufferOf);
    if (parts.length === 1) return parts[0] as GPUBuffer;
    const bytes = factors.map(({ size }) => 4 * size);
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
    const whole = buffers.get(
      `decode ${name}`,
      bytes.reduce((sum, own) => sum + own),
      usage,
    );
    let at = 0;
    for (const [n, part] of parts.entries()) {
      encoder.copyBufferToBuffer(part, 0, whole, at, bytes[n] as number);
      at += bytes[n] as number;
    }
    return whole;
  }
}

/** Copies matrices with their branches merged. */
function folding(
  weights: Weights,
  config: LanguageConfig,
  device: GPUDevice,
  buffers: RawBuffers,
  encoder: GPUCommandEncoder,
): { readonly of: Layers; end(): void } {
  const sizeOf = sizesByPath(config);
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
  const empty = buffers.get("decode empty", 16, GPUBufferUsage.STORAGE);
  const folds: ConstructorParameters<typeof Recording<null>>[3][number][] = [];
  return {
    of(name, paths) {
      const inSize = sizeOf(paths[0] as string).inSize;
      const outSize = paths.reduce((sum, path) => sum + sizeOf(path).outSize, 0);
      const weight = buffers.get(`decode ${name}`, 4 * inSize * outSize, usage);
      const hasBias = weights.find(`${paths[0]}.bias`) !== undefined;
      const bias = hasBias ? buffers.get(`decode ${name} bias`, 4 * outSize, usage) : undefined;
      let row0 = 0;
      for (const path of paths) {
        const rows = sizeOf(path).outSize;
        const lora = weights.lora(path);
        const [a, b] = lora === undefined ? [empty, empty] : [bufferOf(lora.a), bufferOf(lora.b)];
        folds.push({
          program: FOLD,
          buffers: [matrixBuffer(weights.matrix(`${path}.weight`)), a, b, weight],
          uniforms: [inSize / 4, rows, row0, lora?.a.shape[0] ?? 0, lora?.scale ?? 0],
          grid: () => flatGrid(Math.ceil((rows * inSize) / 4 / POINT_LANES)),
        });
        if (bias !== undefined) {
          encoder.copyBufferToBuffer(bufferOf(weights.get(`${path}.bias`)), 0, bias, 4 * row0, 4 * rows);
        }
        row0 += rows;
      }
      const products = [{ weight, bias, inSize, outSize, first: 0, lora: undefined }];
      return { products, outSize, down: undefined, joined: undefined };
    },
    end() {
      const recording = new Recording<null>(device, buffers, "decode fold uniforms", folds);
      const pass = encoder.beginComputePass({ label: "fold low-rank branches" });
      recording.encode(pass, null);
      pass.end();
    },
  };
}
