/**
 * Decoding outside the op layer: prepared dispatches over custom buffers, several tokens per submit, sampled on the GPU
 * and read back once per submit (docs/spec/webgpu.md#63-decode-ms-per-step-of-the-same-model). An ended row leaves the
 * batch at the next submit. A row's numbers do not depend on the other rows, so a rollout can be repeated alone.
 * Oracle: policy/decode/decode-host.ts; tests/gpu/decode.test.ts.
 */

import { inTurn } from "../../bytes/pace.ts";
import { LabError } from "../../errors.ts";
import { PLACE_TAILS } from "../../gpu/decode/attend.ts";
import { NO_TOKEN, POINT_LANES, SLOT_WORDS, type Slot, slotWords } from "../../gpu/decode/lanes.ts";
import { STRANGE, samplePartWords } from "../../gpu/decode/sample.ts";
import { roomFor } from "../../gpu/decode/slot-block.ts";
import { builtInForms } from "../../gpu/forms/active.ts";
import { drawAddress } from "../../gpu/random.ts";
import { backendDevice, bufferOf, flushBackend } from "../../gpu/runtime/program.ts";
import { type Prepared, RawBuffers, Recording } from "../../gpu/runtime/recording.ts";
import type { LanguageConfig } from "../../model/language/config-language.ts";
import { ropeFrequencies } from "../../model/language/rope-scaling.ts";
import type { Weights } from "../../model/weights/weights.ts";
import { type DecodeBuffers, type DecodeLoad, type DecodeSizes, decodeStep } from "./decode-step.ts";
import { type BoundModel, bindModel, FOLD_BYTES } from "./decode-weights.ts";
import type { Prefilled } from "./prefill.ts";
import { type GenerateOptions, type RowAddress, type RowResult, seenWords } from "./sampler.ts";

/** Tokens per submit; ended rows leave the batch after each submit. */
const TOKENS_PER_SUBMIT = 8;
/** Bytes of a drawn token: id, log-probability, entropy, and the number of clipped logits with a mark for NaN. */
const DRAWN_BYTES = 16;

/** Buffers by device, kept from batch to batch. */
const workspaces = new WeakMap<GPUDevice, RawBuffers>();
/** Batches of one device share their buffers, so they run one at a time. */
const turns = new WeakMap<GPUDevice, ReturnType<typeof inTurn>>();

/** Bytes that decoding keeps on the current device between batches. */
export function decodeBytes(): number {
  return workspaces.get(backendDevice())?.bytes ?? 0;
}

/** Frees what decoding keeps on the current device. */
export function freeDecodeBuffers(): void {
  workspaces.get(backendDevice())?.dispose();
}

interface Row {
  readonly ids: number[];
  readonly logps: number[];
  readonly entropies: number[];
  clips: number;
  broken: boolean;
  ended: boolean;
}

/** The rows of a call, and where it keeps its buffers. */
interface Batch {
  readonly device: GPUDevice;
  readonly buffers: RawBuffers;
  readonly language: LanguageConfig;
  readonly prompts: Prefilled;
  readonly address: readonly RowAddress[];
  readonly options: GenerateOptions;
  readonly sizes: DecodeSizes;
}

/**
 * Completes every row; see `generate`. Batches share their buffers, so each waits until the previous one ends.
 * @param foldBytes maximum bytes of matrix copies, see decode-weights.ts
 * @throws LabError("cancelled") when the signal is aborted, LabError("gpu") when the device is lost
 */
export async function decodeOnGpu(
  language: LanguageConfig,
  weights: Weights,
  prompts: Prefilled,
  address: readonly RowAddress[],
  options: GenerateOptions,
  ropeLength?: number,
  foldBytes: number = FOLD_BYTES,
): Promise<RowResult[]> {
  const device = backendDevice();
  const turn = turns.get(device) ?? inTurn();
  turns.set(device, turn);
  return turn(async () => {
    stopIf(options.signal);
    const buffers = workspaces.get(device) ?? new RawBuffers(device);
    workspaces.set(device, buffers);
    const sizes = sizesOf(prompts, options.maxCompletionLength);
    return decodeAlone({ device, buffers, language, prompts, address, options, sizes }, weights, ropeLength, foldBytes);
  });
}

async function decodeAlone(
  batch: Batch,
  weights: Weights,
  ropeLength: number | undefined,
  foldBytes: number,
): Promise<RowResult[]> {
  const { device, buffers, language, address, options, sizes } = batch;
  const software = builtInForms().decoding === "thread";
  const encoder = device.createCommandEncoder({ label: "decode weights" });
  const bound = bindModel(weights, language, device, buffers, encoder, foldBytes, !software);
  const own = rawBuffers(batch, bound, ropeLength);
  placeTails(batch, encoder, own);
  const step = decodeStep(language, bound, own, sizes, options.sampler, options.greedy, software);
  const recording = new Recording<DecodeLoad>(device, buffers, "decode uniforms", step);
  flushBackend();
  device.queue.submit([encoder.finish()]);

  const rows = address.map((): Row => ({ ids: [], logps: [], entropies: [], clips: 0, broken: false, ended: false }));
  let done = 0;
  while (done < options.maxCompletionLength) {
    const active = rows.flatMap((row, at) => (row.ended ? [] : [at]));
    if (active.length === 0) break;
    const tokens = Math.min(TOKENS_PER_SUBMIT, options.maxCompletionLength - done);
    device.queue.writeBuffer(own.state, 0, slotWords(slotsOf(batch, rows, active, done)));
    const drawn = await runTokens(batch, recording, own, active, done, tokens);
    stopIf(options.signal);
    for (let token = 0; token < tokens; token++) {
      for (const at of active) take(rows[at] as Row, drawn, token * (sizes.rows + 1) + at, options.stop);
    }
    done += tokens;
  }
  return rows;
}

function stopIf(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new LabError("cancelled", "Generation was stopped");
}

/** Encodes and submits `tokens` steps and reads their draws, [tokens, rows + 1] entries of four words. */
async function runTokens(
  { device, buffers, prompts, sizes }: Batch,
  recording: Recording<DecodeLoad>,
  own: DecodeBuffers,
  active: readonly number[],
  done: number,
  tokens: number,
): Promise<Uint8Array> {
  const longest = Math.max(...active.map((at) => (prompts.head[at] as number) + (prompts.tail[at] as number)));
  const rowBytes = (sizes.rows + 1) * DRAWN_BYTES;
  const staging = buffers.get(
    "decode read-back",
    TOKENS_PER_SUBMIT * rowBytes,
    GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  );
  // The GPU starts with the first token while the others are still being recorded.
  const encode = (from: number, to: number): GPUCommandEncoder => {
    const encoder = device.createCommandEncoder({ label: "decode" });
    const pass = encoder.beginComputePass();
    for (let token = from; token < to; token++) {
      recording.encode(pass, { slots: active.length, keys: longest + done + token + 1 });
    }
    pass.end();
    return encoder;
  };
  const ahead = Math.min(1, tokens - 1);
  if (ahead > 0) device.queue.submit([encode(0, ahead).finish()]);
  const encoder = encode(ahead, tokens);
  encoder.copyBufferToBuffer(own.drawn, done * rowBytes, staging, 0, tokens * rowBytes);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ, 0, tokens * rowBytes).catch((thrown: unknown) => {
    throw new LabError("gpu", `Drawn tokens could not be read back: ${(thrown as Error).message}`);
  });
  const drawn = new Uint8Array(staging.getMappedRange(0, tokens * rowBytes).slice(0));
  staging.unmap();
  return drawn;
}

/** Appends a drawn token to its row, unless the row has ended. */
function take(row: Row, drawn: Uint8Array, entry: number, stop: GenerateOptions["stop"]): void {
  if (row.ended) return;
  const view = new DataView(drawn.buffer, drawn.byteOffset + entry * DRAWN_BYTES, DRAWN_BYTES);
  const id = view.getUint32(0, true);
  const last = view.getUint32(12, true);
  if (id === NO_TOKEN || last >= STRANGE) {
    row.broken = true;
    row.ended = true;
    return;
  }
  row.ids.push(id);
  row.clips += last;
  row.logps.push(view.getFloat32(4, true));
  row.entropies.push(view.getFloat32(8, true));
  row.ended = stop(row.ids);
}

function sizesOf(prompts: Prefilled, maxCompletionLength: number): DecodeSizes {
  const rows = prompts.head.length;
  const longest = Math.max(...prompts.head.map((head, row) => head + (prompts.tail[row] as number)));
  return {
    rows,
    slots: roomFor(rows),
    capacity: prompts.tailPlaces + maxCompletionLength,
    places: prompts.prefixPlaces,
    keys: longest + maxCompletionLength,
  };
}

/** Assigns the active rows to slots; slots that only fill up the last block write into an unused row. */
function slotsOf(
  { prompts, sizes, address }: Batch,
  rows: readonly Row[],
  active: readonly number[],
  count: number,
): Slot[] {
  const slots = active.map((row): Slot => {
    const { ids } = rows[row] as Row;
    return {
      row,
      pastRow: prompts.pastRow[row] as number,
      head: prompts.head[row] as number,
      tail: prompts.tail[row] as number,
      shift: prompts.shift[row] as number,
      count,
      id: ids[ids.length - 1] ?? NO_TOKEN,
      ...drawAddress((address[row] as RowAddress).key),
    };
  });
  const idle: Slot = {
    row: sizes.rows,
    pastRow: 0,
    head: 0,
    tail: 0,
    shift: 0,
    count: 0,
    id: 0,
    counter: [0, 0, 0],
    key: [0, 0],
    position: 0,
  };
  while (slots.length < sizes.slots) slots.push(idle);
  return slots;
}

function rawBuffers(batch: Batch, bound: BoundModel, ropeLength: number | undefined): DecodeBuffers {
  const { device, buffers, language, prompts, address, options, sizes } = batch;
  const { hiddenSize, mlpSize, heads, kvHeads, headSize, vocabSize, layers } = language;
  const { rows, slots, capacity, keys } = sizes;
  const make = (name: string, elements: number): GPUBuffer =>
    buffers.get(
      `decode ${name}`,
      4 * elements,
      GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
    );
  const words = seenWords(vocabSize, options.sampler);
  const seen = make("seen ids", (rows + 1) * words);
  const angles = make("angles", keys * headSize);
  device.queue.writeBuffer(angles, 0, anglesOf(language, keys, ropeLength));
  if (words > 0) device.queue.writeBuffer(seen, 0, seenIds(address, words));
  const empty = buffers.get("decode empty", 16, GPUBufferUsage.STORAGE);
  return {
    state: make("state", slots * SLOT_WORDS),
    given: bufferOf(prompts.first),
    angles,
    x: make("stream", slots * hiddenSize),
    normed: make("normed", slots * hiddenSize),
    projected: make("projected", slots * (heads + 2 * kvHeads) * headSize),
    branch: make("branch", slots * bound.rank),
    query: make("queries", slots * heads * headSize),
    scores: make("scores", slots * heads * keys),
    mixed: make("mixed", slots * heads * headSize),
    pairs: make("pairs", slots * 2 * mlpSize),
    gated: make("gated", slots * mlpSize),
    logits: make("logits", slots * vocabSize),
    seen,
    parts: make("sample parts", samplePartWords(slots, vocabSize)),
    drawn: make("drawn", (rows + 1) * options.maxCompletionLength * (DRAWN_BYTES / 4)),
    empty,
    caches: Array.from({ length: layers }, (_, layer) => {
      const past = prompts.past?.[layer];
      const elements = (rows + 1) * kvHeads * capacity * headSize;
      return {
        pastKeys: past === undefined ? empty : bufferOf(past.k),
        pastValues: past === undefined ? empty : bufferOf(past.v),
        ownKeys: make(`keys ${layer}`, elements),
        ownValues: make(`values ${layer}`, elements),
      };
    }),
  };
}

/** Copies the keys and values of the rows' tails into their own caches. */
function placeTails(
  { device, buffers, language: { headSize }, prompts: { tails, tailPlaces }, sizes: { capacity } }: Batch,
  encoder: GPUCommandEncoder,
  { caches }: DecodeBuffers,
): void {
  if (tails === undefined) return;
  const copies = tails.map(({ k, v }, layer): Prepared<null> => {
    const { ownKeys, ownValues } = caches[layer] as DecodeBuffers["caches"][number];
    const [rows, heads] = k.shape as [number, number];
    const tail4 = (tailPlaces * headSize) / 4;
    return {
      program: PLACE_TAILS,
      buffers: [bufferOf(k), bufferOf(v), ownKeys, ownValues],
      uniforms: [tail4, (capacity * headSize) / 4],
      grid: () => [Math.ceil(tail4 / POINT_LANES), heads, rows],
    };
  });
  const recording = new Recording<null>(device, buffers, "decode tail uniforms", copies);
  const pass = encoder.beginComputePass({ label: "tails of the prompts" });
  recording.encode(pass, null);
  pass.end();
}

/** cos and sin of every position, from 0, [positions, 2, d/2]. */
function anglesOf(config: LanguageConfig, positions: number, ropeLength = positions): Float32Array<ArrayBuffer> {
  const { perPosition, amplitude } = ropeFrequencies(config.rope, config.headSize, ropeLength);
  const half = perPosition.length;
  const values = new Float32Array(positions * 2 * half);
  for (let position = 0; position < positions; position++) {
    perPosition.forEach((frequency, k) => {
      values[position * 2 * half + k] = amplitude * Math.cos(position * frequency);
      values[(position * 2 + 1) * half + k] = amplitude * Math.sin(position * frequency);
    });
  }
  return values;
}

/** One bit per id, one run of words per row. Ids beyond the vocabulary have no logit to change, as on the host. */
function seenIds(address: readonly RowAddress[], words: number): Uint32Array<ArrayBuffer> {
  const bits = new Uint32Array(address.length * words);
  address.forEach(({ promptIds }, row) => {
    for (const id of promptIds) {
      if (id >= 32 * words) continue;
      const at = row * words + (id >>> 5);
      bits[at] = ((bits[at] as number) | (1 << (id & 31))) >>> 0;
    }
  });
  return bits;
}
