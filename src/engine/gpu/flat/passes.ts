/**
 * Passes of an update over all tensors of a layout: one dispatch per arena, and one to fold sums. Not differentiable.
 * The order of every sum is fixed by the tensor's chunks, so results do not depend on other tensors in the arena. Without
 * custom kernels the passes compute tensor by tensor in stock ops and return new arenas in place of written ones.
 */

import { type AdamwNumbers, adamwUpdate, moveTowards } from "../kernels/optimiser.ts";
import { pointProgram, type RowProgram, runPoints, runRows } from "../rows-program.ts";
import { customKernels, toTensor } from "../runtime/custom-op.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { copyBuffers, flatGrid, runProgram, unwritten } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";
import { bySegment, CHUNK, type FlatLayout, type Flats, partOf, runsOf, type Segment } from "./layout.ts";

const THREADS = 64;

/** A workgroup updates one chunk. */
const ADAMW: GpuProgram = {
  name: "lab-flat-adamw",
  inputs: { param: "f32", grad: "f32", chunks: "i32", numbers: "f32" },
  outputs: { next: "f32", first: "f32", second: "f32" },
  uniforms: {
    count: "u32",
    beta1: "f32",
    rest1: "f32",
    beta2: "f32",
    rest2: "f32",
    eps: "f32",
    rootScale: "f32",
    factor: "f32",
  },
  workgroup: [THREADS, 1],
  body: `
    let chunk = group.y * groups.x + group.x;
    if (chunk >= u.count) { return; }
    let begin = u32(chunks[3u * chunk]);
    let end = begin + u32(chunks[3u * chunk + 1u]);
    let row = 3u * u32(chunks[3u * chunk + 2u]);
    let moves = numbers[row] != 0.0;
    let keep = numbers[row + 1u];
    let stepSize = numbers[row + 2u];
    for (var i = begin + local.x; i < end; i += ${THREADS}u) {
      if (!moves) { next[i] = param[i]; continue; }
      let g = grad[i] * u.factor;
      let m = first[i] * u.beta1 + g * u.rest1;
      let v = second[i] * u.beta2 + g * g * u.rest2;
      first[i] = m;
      second[i] = v;
      next[i] = param[i] * keep - m / (sqrt(v) * u.rootScale + u.eps) * stepSize;
    }`,
};

/** The update's numbers for one tensor; undefined leaves the tensor and its moments unchanged. */
type SegmentNumbers = Pick<AdamwNumbers, "keep" | "stepSize"> | undefined;

interface AdamwFlats {
  readonly params: Flats;
  readonly first: Flats;
  readonly second: Flats;
}

/**
 * One AdamW update (1711.05101). The new parameters belong to the caller. The moments change in place, or are new tensors
 * that replace the given ones.
 * @param factor multiplier of every gradient, from clipping
 */
export function adamwPass(
  layout: FlatLayout,
  flats: AdamwFlats & { readonly grads: Flats },
  shared: Omit<AdamwNumbers, "keep" | "stepSize">,
  factor: number,
  numbersOf: (segment: Segment) => SegmentNumbers,
): AdamwFlats {
  if (!customKernels()) return stockAdamw(layout, flats, shared, factor, numbersOf);
  const rows = new Float32Array(3 * layout.count);
  for (const { segments } of layout.arenas) {
    for (const segment of segments) {
      const numbers = numbersOf(segment);
      if (numbers !== undefined) rows.set([1, numbers.keep, numbers.stepSize], 3 * segment.index);
    }
  }
  const table = tf.tensor1d(rows);
  const { beta1, beta2, eps, rootScale } = shared;
  const next = layout.arenas.map(({ length, chunks }, a) => {
    const inputs = [flats.params[a] as Tensor, flats.grads[a] as Tensor, layout.chunkTable(a), table];
    const outputs = [{ shape: [length] }, { into: flats.first[a] as Tensor }, { into: flats.second[a] as Tensor }];
    const uniforms = [chunks, beta1, 1 - beta1, beta2, 1 - beta2, eps, rootScale, factor];
    return toTensor(runProgram(ADAMW, inputs, outputs, uniforms, flatGrid(chunks))[0]);
  });
  table.dispose();
  return { params: next, first: flats.first, second: flats.second };
}

function stockAdamw(...[layout, flats, shared, factor, numbersOf]: Parameters<typeof adamwPass>): AdamwFlats {
  const arenas = layout.arenas.map((arena, a) =>
    tf.tidy(() => {
      const updated = new Map(
        arena.segments.map((segment) => {
          const part = (of: Flats): Tensor => partOf(of[a] as Tensor, segment);
          const before: [Tensor, Tensor, Tensor] = [part(flats.params), part(flats.first), part(flats.second)];
          const numbers = numbersOf(segment);
          if (numbers === undefined) return [segment.name, before];
          const [param, first, second] = before;
          return [
            segment.name,
            adamwUpdate(param, part(flats.grads).mul(factor), first, second, { ...shared, ...numbers }),
          ];
        }),
      );
      return [0, 1, 2].map((which) => bySegment(arena, [], ({ name }) => updated.get(name)?.[which] as Tensor));
    }),
  );
  const [params = [], first = [], second = []] = [0, 1, 2].map((which) => arenas.map((own) => own[which] as Tensor));
  return { params, first, second };
}

const CHUNK_BOUNDS = `
    let begin = u32(chunks[3u * row]);
    let end = begin + u32(chunks[3u * row + 1u]);
    var square = 0.0;
    var top = 0.0;
    var bad = 0.0;`;

const WRITE_SUMS = `
    square = sum(square, lane);
    top = largest(top, lane);
    bad = sum(bad, lane);
    if (first == 0u) {
      let at = 3u * (u.slot + row);
      sums[at] = square;
      sums[at + 1u] = top;
      sums[at + 2u] = bad;
    }`;

const BROKEN = `
  fn broken(value: f32) -> f32 { return select(0.0, 1.0, (bitcast<u32>(value) & 0x7f800000u) == 0x7f800000u); }`;

/** Moves averages towards their goals and sums the squares of the remaining differences. */
const MOVE: RowProgram = {
  name: "lab-flat-move",
  inputs: { average: "f32", goal: "f32", chunks: "i32" },
  outputs: { next: "f32", sums: "f32" },
  uniforms: { rows: "u32", width: "u32", slot: "u32", share: "f32" },
  body: `${CHUNK_BOUNDS}
    for (var i = begin + first; i < end; i += step) {
      let before = average[i];
      let now = before + (goal[i] - before) * u.share;
      let rest = goal[i] - now;
      next[i] = now;
      square += rest * rest;
      top = max(top, abs(rest));
    }${WRITE_SUMS}`,
};

const SUMS: RowProgram = {
  name: "lab-flat-sums",
  inputs: { x: "f32", y: "f32", chunks: "i32" },
  outputs: { sums: "f32" },
  uniforms: { rows: "u32", width: "u32", slot: "u32", minus: "u32" },
  header: BROKEN,
  body: `${CHUNK_BOUNDS}
    for (var i = begin + first; i < end; i += step) {
      var value = x[i];
      if (u.minus != 0u) { value -= y[i]; }
      square += value * value;
      top = max(top, abs(value));
      bad += broken(value);
    }${WRITE_SUMS}`,
};

/** Folds the chunk sums of every segment. */
const FOLD: RowProgram = {
  name: "lab-flat-fold",
  inputs: { parts: "f32", segments: "i32" },
  outputs: { sums: "f32" },
  uniforms: { rows: "u32", width: "u32", slot: "u32" },
  body: `
    let begin = u32(segments[2u * row]);
    let end = begin + u32(segments[2u * row + 1u]);
    var square = 0.0;
    var top = 0.0;
    var bad = 0.0;
    for (var i = begin + first; i < end; i += step) {
      square += parts[3u * i];
      top = max(top, parts[3u * i + 1u]);
      bad += parts[3u * i + 2u];
    }${WRITE_SUMS}`,
};

function fold(layout: FlatLayout, parts: Tensor): Tensor {
  const sums = toTensor(
    runRows(FOLD, [parts, layout.segmentTable()], [{ shape: [layout.count, 3] }], layout.count, CHUNK, [0])[0],
  );
  parts.dispose();
  return sums;
}

function unfolded(layout: FlatLayout): Tensor {
  return toTensor(unwritten([layout.chunks, 3]));
}

/**
 * average + share · (goal − average).
 * @returns the new averages, and per segment Σ (goal − new)² and the largest |goal − new| in [segments, 3], whose last
 * column is 0; the caller owns all results
 */
export function movePass(
  layout: FlatLayout,
  averages: Flats,
  goals: Flats,
  share: number,
): { readonly next: Tensor[]; readonly left: Tensor } {
  if (!customKernels()) {
    const next = layout.arenas.map((arena, a) =>
      bySegment(arena, [averages[a] as Tensor, goals[a] as Tensor], (_, [average, goal]) =>
        moveTowards(average as Tensor, goal as Tensor, share),
      ),
    );
    return { next, left: summaryPass(layout, goals, next) };
  }
  const parts = unfolded(layout);
  const next = layout.arenas.map(({ length, chunks, firstChunk }, a) => {
    const inputs = [averages[a] as Tensor, goals[a] as Tensor, layout.chunkTable(a)];
    const outputs = [{ shape: [length] }, { into: parts }];
    return toTensor(runRows(MOVE, inputs, outputs, chunks, CHUNK, [firstChunk, share])[0]);
  });
  return { next, left: fold(layout, parts) };
}

/**
 * Σ x², max |x| and the count of NaN and infinite elements of every segment, or of its difference from the segment of
 * `minus`.
 * @returns [segments, 3], owned by the caller; rows of absent segments are undefined
 */
export function summaryPass(layout: FlatLayout, flats: Flats, minus?: Flats): Tensor {
  if (!customKernels()) {
    return tf.tidy(() => {
      const rows: Tensor[] = [];
      for (const [a, { segments }] of layout.arenas.entries()) {
        for (const segment of segments) {
          const part = partOf(flats[a] as Tensor, segment);
          const x = minus === undefined ? part : part.sub(partOf(minus[a] as Tensor, segment));
          rows[segment.index] = tf.stack([x.square().sum(), x.abs().max(), x.isFinite().logicalNot().toFloat().sum()]);
        }
      }
      return tf.stack(rows);
    });
  }
  const parts = unfolded(layout);
  layout.arenas.forEach(({ chunks, firstChunk }, a) => {
    const x = flats[a] as Tensor;
    const inputs = [x, minus?.[a] ?? x, layout.chunkTable(a)];
    runRows(SUMS, inputs, [{ into: parts }], chunks, CHUNK, [firstChunk, minus === undefined ? 0 : 1]);
  });
  return fold(layout, parts);
}

const ADD = pointProgram({
  name: "lab-flat-add",
  inputs: { more: "f32" },
  outputs: { total: "f32" },
  uniforms: { size: "u32", begin: "u32" },
  body: "total[u.begin + i] += more[u.begin + i];",
});

/**
 * Adds arenas to sums, in place or as new tensors that replace the sums.
 * @param change whether a tensor is added, takes the place of undefined values, or is absent from `more`
 */
export function addPass(
  { arenas }: FlatLayout,
  sums: Flats,
  more: Flats,
  change: (name: string) => "add" | "copy" | "keep",
): Tensor[] {
  return arenas.map((arena, a) => {
    const [sum, from] = [sums[a] as Tensor, more[a] as Tensor];
    const { segments } = arena;
    if (!customKernels()) {
      return bySegment(arena, [sum, from], ({ name }, [one, other]) => {
        const how = change(name);
        return (how === "add" ? one?.add(other as Tensor) : how === "copy" ? other : one) as Tensor;
      });
    }
    const fresh = segments.filter(({ name }) => change(name) === "copy");
    copyBuffers(fresh.map(({ offset, size }) => ({ from, fromAt: offset, into: sum, intoAt: offset, count: size })));
    for (const { begin, end } of runsOf(segments, (name) => change(name) === "add")) {
      runPoints(ADD, [from], [{ into: sum }], end - begin, [begin]);
    }
    return sum;
  });
}
