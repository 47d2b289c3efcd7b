/**
 * Draws the next token of every slot from its logits, on the GPU. The steps and their order are those of the CPU
 * sampler (policy/decode/sampler.ts), which is the oracle: repetition penalty → guard
 * clip → temperature → top-k → top-p → min-p → inverse of the cumulative distribution at a Philox draw (gpu/random.ts).
 *
 * The draw uses integer probabilities, exp(score − largest) in units of 2^-31 with 64-bit sums. Integer sums do not
 * depend on their order, so one thread and many give the same draw. A token can differ from that of the CPU, which uses
 * doubles, only where the draw is within rounding (about 1e-7) of the border between two tokens.
 */
import { PHILOX } from "../random.ts";
import { type UniformBlock, u32s } from "../runtime/pipelines.ts";
import { type LaneProgram, SLOT_HEADER } from "./lanes.ts";

/**
 * Bit in the last word of a drawn token that marks a NaN logit; the other bits count the logits that the guard clipped.
 */
export const STRANGE = 0x8000_0000;

const ARITHMETIC = `${PHILOX}
  fn add64(a: vec2u, b: vec2u) -> vec2u {
    let low = a.x + b.x;
    return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
  }
  fn subtract64(a: vec2u, b: vec2u) -> vec2u { return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }
  fn below64(a: vec2u, b: vec2u) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
  /** a · b >> shift for a shift of 24 or 32 and a product below 2^96. */
  fn scaled64(a: vec2u, b: u32, shift: u32) -> vec2u {
    let w0 = a.x * b;
    let inner = a.y * b;
    let w1 = multiplyHigh(a.x, b) + inner;
    let w2 = multiplyHigh(a.y, b) + select(0u, 1u, w1 < inner);
    if (shift == 32u) { return vec2u(w1, w2); }
    return vec2u((w0 >> 24u) | (w1 << 8u), (w1 >> 24u) | (w2 << 8u));
  }`;

const SCORING = `
  fn isNumber(z: f32) -> bool { return (bitcast<u32>(z) & 0x7fffffffu) <= 0x7f800000u; }
  /** Clips by comparing bits, because a compiler may assume that there are no infinities. */
  fn guarded(z: f32) -> f32 {
    let bits = bitcast<u32>(z);
    if ((bits & 0x7fffffffu) <= bitcast<u32>(u.guard)) { return z; }
    return select(u.guard, -u.guard, (bits >> 31u) != 0u);
  }
  fn clipped(z: f32) -> bool { return isNumber(z) && (bitcast<u32>(z) & 0x7fffffffu) > bitcast<u32>(u.guard); }
  fn full(logit: f32) -> f32 { return guarded(logit) / u.temperature; }
  fn penalised(logit: f32, row: u32, i: u32) -> f32 {
    if (u.words == 0u || ((seen[row * u.words + (i >> 5u)] >> (i & 31u)) & 1u) == 0u) { return logit; }
    return select(logit * u.penalty, logit / u.penalty, logit > 0.0);
  }
  /** The score of token i in the draw. */
  fn score(logit: f32, row: u32, i: u32) -> f32 { return guarded(penalised(logit, row, i)) / u.drawTemperature; }
  /** An integer with the order of the number; both zeros give the same. */
  fn rank(value: f32) -> u32 {
    var bits = bitcast<u32>(value);
    if (bits == 0x80000000u) { bits = 0u; }
    return select(bits | 0x80000000u, ~bits, (bits >> 31u) != 0u);
  }
  /** A probability relative to the largest, in the units of the draw. */
  fn weight(share: f32) -> u32 { return u32(share * 2147483648.0 + 0.5); }`;

/**
 * Functions that draw and store; they need `state` and `drawn`. `finish` moves the slot on to the next token; `top`,
 * `total` and `slope` are those of the full distribution.
 */
const SAMPLE_END = `
  fn finish(s: u32, row: u32, base: u32, id: u32, top: f32, total: f32, slope: f32, clips: u32, strange: u32) {
    let position = state[s + COUNT];
    var entry = vec4u(id, 0u, 0u, clips | select(0u, STRANGE, strange != 0u));
    if (id != NO_TOKEN) {
      entry.y = bitcast<u32>(full(logits[base + id]) - top - log(total));
      entry.z = bitcast<u32>(log(total) - slope / total);
      if (u.words != 0u) { seen[row * u.words + (id >> 5u)] |= 1u << (id & 31u); }
    }
    drawn[position * u.rows + row] = entry;
    state[s + ID] = min(id, u.width - 1u);
    state[s + COUNT] = position + 1u;
  }
  fn drawWord(s: u32) -> u32 {
    return philox(
      vec4u(state[s + DRAW], state[s + DRAW + 1u], state[s + DRAW + 2u], state[s + POSITION] + state[s + COUNT]),
      vec2u(state[s + KEY], state[s + KEY + 1u])).x;
  }
  /** The place of the draw in a distribution with this mass: the first token whose running sum is above it is drawn. */
  fn placeIn(all: vec2u, word: u32) -> vec2u { return scaled64(all, ((word >> 9u) << 1u) | 1u, 24u); }`;

/** Functions of all programs that sample. */
const SAMPLE_HEADER = `${SLOT_HEADER} const STRANGE = ${STRANGE}u; ${ARITHMETIC}${SCORING}`;

/** Uniforms of all programs that sample. */
const SAMPLE_UNIFORMS = {
  ...u32s("tiles width rows greedy"),
  temperature: "f32",
  drawTemperature: "f32",
  guard: "f32",
  topK: "u32",
  /** (1 − top-p) · 2^32. */
  rest: "u32",
  minP: "f32",
  penalty: "f32",
  /** Words per row in the set of seen ids; 0 without a penalty. */
  words: "u32",
  rounds: "u32",
} as const satisfies UniformBlock["uniforms"];

export const SAMPLE: LaneProgram = {
  name: "lab-decode-sample",
  inputs: { logits: "f32" },
  outputs: { state: "u32", seen: "u32", drawn: "vec4<u32>" },
  uniforms: SAMPLE_UNIFORMS,
  reductions: ["sum", "largest", "least", "count", "mass", "before"],
  header: `${SAMPLE_HEADER}${SAMPLE_END}`,
  body: `
    let s = tile * SLOT_WORDS;
    let row = state[s + ROW];
    let base = tile * u.width;

    // The full distribution, which the ratio of the loss uses.
    var top = -3.0e38;
    var best = -3.0e38;
    var strange = 0u;
    var clips = 0u;
    for (var i = first; i < u.width; i += step) {
      let x = logits[base + i];
      if (!isNumber(x)) { strange++; continue; }
      if (clipped(x)) { clips++; }
      top = max(top, full(x));
      best = max(best, score(x, row, i));
    }
    top = largest(top, lane);
    best = largest(best, lane);
    strange = count(strange, lane);
    clips = count(clips, lane);
    var total = 0.0;
    var slope = 0.0;
    for (var i = first; i < u.width; i += step) {
      let x = logits[base + i];
      if (!isNumber(x)) { continue; }
      let z = full(x) - top;
      let e = exp(z);
      total += e;
      slope += e * z;
    }
    total = sum(total, lane);
    slope = sum(slope, lane);

    var id = NO_TOKEN;
    if (u.greedy != 0u) {
      // Before the guard, which would make all logits above it equal. Ranks also order infinities.
      var most = 0u;
      for (var i = first; i < u.width; i += step) {
        let x = logits[base + i];
        if (isNumber(x)) { most = max(most, rank(penalised(x, row, i))); }
      }
      most = ~least(~most, lane);
      for (var i = first; i < u.width; i += step) {
        let x = logits[base + i];
        if (isNumber(x) && rank(penalised(x, row, i)) == most) { id = min(id, i); }
      }
    } else {
      // Kept: ranks above lowest, and those equal to it from index tieFrom on.
      var lowest = 0u;
      var tieFrom = 0u;
      if (u.topK != 0u && u.topK < u.width) {
        for (var bit = 1u << 31u; bit != 0u; bit >>= 1u) {
          var many = 0u;
          for (var i = first; i < u.width; i += step) {
            let x = logits[base + i];
            if (isNumber(x) && rank(score(x, row, i)) >= (lowest | bit)) { many++; }
          }
          if (count(many, lane) >= u.topK) { lowest |= bit; }
        }
      }
      if (u.rest != 0u) {
        var all = vec2u(0);
        for (var i = first; i < u.width; i += step) {
          let x = logits[base + i];
          let value = score(x, row, i);
          if (isNumber(x) && rank(value) >= lowest) { all = add64(all, vec2u(weight(exp(value - best)), 0u)); }
        }
        let limit = scaled64(mass(all, lane), u.rest, 32u);
        var border = 0u;
        var gone = vec2u(0);
        for (var bit = 1u << 31u; bit != 0u; bit >>= 1u) {
          var under = vec2u(0);
          for (var i = first; i < u.width; i += step) {
            let x = logits[base + i];
            let value = score(x, row, i);
            let r = rank(value);
            if (isNumber(x) && r >= lowest && r < (border | bit)) {
              under = add64(under, vec2u(weight(exp(value - best)), 0u));
            }
          }
          under = mass(under, lane);
          if (!below64(limit, under)) { border |= bit; gone = under; }
        }
        // Of equal scores at the border, those with the lowest index are removed first, as many as still fit.
        var one = 0u;
        for (var i = first; i < u.width; i += step) {
          let x = logits[base + i];
          let value = score(x, row, i);
          if (isNumber(x) && rank(value) == border) { one = weight(exp(value - best)); }
        }
        one = ~least(~one, lane);
        let room = subtract64(limit, gone);
        if (one != 0u && !below64(room, vec2u(one, 0u))) {
          for (var bit = 1u << 31u; bit != 0u; bit >>= 1u) {
            var ties = 0u;
            for (var i = first; i < u.width; i += step) {
              let x = logits[base + i];
              if (isNumber(x) && i < (tieFrom | bit) && rank(score(x, row, i)) == border) { ties++; }
            }
            ties = count(ties, lane);
            if (!below64(room, vec2u(one * ties, multiplyHigh(one, ties)))) { tieFrom |= bit; }
          }
        }
        lowest = max(lowest, border);
      }

      let span = (u.width + step - 1u) / step;
      let begin = min(u.width, first * span);
      let end = min(u.width, begin + span);
      var own = vec2u(0);
      for (var i = begin; i < end; i++) {
        let x = logits[base + i];
        let value = score(x, row, i);
        let r = rank(value);
        let e = exp(value - best);
        let kept = isNumber(x) && (r > lowest || (r == lowest && i >= tieFrom)) && e >= u.minP;
        if (kept) { own = add64(own, vec2u(weight(e), 0u)); }
      }
      let all = mass(own, lane);
      var running = before(own, lane);
      let goal = placeIn(all, drawWord(s));
      if (!below64(goal, running) && below64(goal, add64(running, own))) {
        for (var i = begin; i < end; i++) {
          let x = logits[base + i];
          let value = score(x, row, i);
          let r = rank(value);
          let e = exp(value - best);
          let kept = isNumber(x) && (r > lowest || (r == lowest && i >= tieFrom)) && e >= u.minP;
          if (kept) { running = add64(running, vec2u(weight(e), 0u)); }
          if (below64(goal, running)) { id = i; break; }
        }
      }
    }
    id = least(id, lane);

    if (first == 0u) { finish(s, row, base, id, top, total, slope, clips, strange); }`,
};

// The draw of sample.ts for large vocabularies, by many workgroups: the logits of a slot are cut into chunks. Three
// dispatches: the largest scores of each chunk, the masses of the chunks relative to the largest of all, and the draw,
// which finds the chunk and then the token. Masses are the same integers in the same order as in sample.ts, so the
// token is the same. Log-probability and entropy add in another order and may differ in the last bits. Top-k and top-p
// search all logits repeatedly for a border, so they use sample.ts.

/** Logits of a chunk. */
const CHUNK = 2048;
/** From this vocabulary size on, two more dispatches take less time than one workgroup for all logits. */
const LEAST_WIDTH = 4 * CHUNK;
/** Words of a chunk's partial results. */
const PART_WORDS = 12;

/** Whether the draw over `width` logits is cut into chunks. */
export function samplesWide(width: number, topK: number, topP: number, greedy: boolean): boolean {
  return width >= LEAST_WIDTH && (greedy || ((topK === 0 || topK >= width) && topP >= 1));
}

/** Chunks of a slot. */
export function sampleChunks(width: number): number {
  return Math.ceil(width / CHUNK);
}

/** Words that the chunks' partial results of a batch take. */
export function samplePartWords(slots: number, width: number): number {
  return slots * sampleChunks(width) * PART_WORDS;
}

const HEADER = `${SAMPLE_HEADER}
  const CHUNK = ${CHUNK}u; const PART_WORDS = ${PART_WORDS}u;
  const TOP = 0u; const BEST = 1u; const RANK = 2u; const FIRST_ID = 3u; const ODD = 4u; const CLIPS = 5u;
  const TOTAL = 6u; const SLOPE = 7u; const MASS = 8u;
  fn chunks() -> u32 { return (u.width + CHUNK - 1u) / CHUNK; }
  fn real(at: u32) -> f32 { return bitcast<f32>(parts[at]); }
  fn kept(e: f32) -> u32 { return select(0u, weight(e), e >= u.minP); }`;

/** Code for the chunk of a tile: `slot`, `row`, `base` of its logits, `start` and `stop` in them, and `part`. */
const CHUNK_OF_TILE = `
    let many = chunks();
    let slot = tile / many;
    let row = state[slot * SLOT_WORDS + ROW];
    let base = slot * u.width;
    let start = (tile % many) * CHUNK;
    let stop = min(u.width, start + CHUNK);
    let part = tile * PART_WORDS;`;

const BUFFERS = {
  inputs: { logits: "f32" },
  outputs: { state: "u32", seen: "u32", parts: "u32" },
  uniforms: SAMPLE_UNIFORMS,
} as const;

/** The largest scores of every chunk, its first token of the highest rank, and counts. A tile is a chunk of a slot. */
export const SAMPLE_TOPS: LaneProgram = {
  ...BUFFERS,
  name: "lab-decode-sample-tops",
  reductions: ["largest", "least", "count"],
  header: HEADER,
  body: `${CHUNK_OF_TILE}
    var top = -3.0e38;
    var best = -3.0e38;
    var most = 0u;
    var id = NO_TOKEN;
    var strange = 0u;
    var clips = 0u;
    for (var i = start + first; i < stop; i += step) {
      let x = logits[base + i];
      if (!isNumber(x)) { strange++; continue; }
      if (clipped(x)) { clips++; }
      top = max(top, full(x));
      best = max(best, score(x, row, i));
      let r = rank(penalised(x, row, i));
      if (r > most) { most = r; id = i; }
    }
    let highest = ~least(~most, lane);
    id = least(select(NO_TOKEN, id, most == highest), lane);
    top = largest(top, lane);
    best = largest(best, lane);
    strange = count(strange, lane);
    clips = count(clips, lane);
    if (first == 0u) {
      parts[part + TOP] = bitcast<u32>(top);
      parts[part + BEST] = bitcast<u32>(best);
      parts[part + RANK] = highest;
      parts[part + FIRST_ID] = id;
      parts[part + ODD] = strange;
      parts[part + CLIPS] = clips;
    }`,
};

/** Sums of every chunk, relative to the largest scores of its slot. */
export const SAMPLE_MASSES: LaneProgram = {
  ...BUFFERS,
  name: "lab-decode-sample-masses",
  reductions: ["sum", "largest", "mass"],
  header: HEADER,
  body: `${CHUNK_OF_TILE}
    var top = -3.0e38;
    var best = -3.0e38;
    for (var c = slot * many + first; c < (slot + 1u) * many; c += step) {
      top = max(top, real(c * PART_WORDS + TOP));
      best = max(best, real(c * PART_WORDS + BEST));
    }
    top = largest(top, lane);
    best = largest(best, lane);
    var total = 0.0;
    var slope = 0.0;
    var own = vec2u(0);
    for (var i = start + first; i < stop; i += step) {
      let x = logits[base + i];
      if (!isNumber(x)) { continue; }
      let z = full(x) - top;
      let e = exp(z);
      total += e;
      slope += e * z;
      own = add64(own, vec2u(kept(exp(score(x, row, i) - best)), 0u));
    }
    total = sum(total, lane);
    slope = sum(slope, lane);
    own = mass(own, lane);
    if (first == 0u) {
      parts[part + TOTAL] = bitcast<u32>(total);
      parts[part + SLOPE] = bitcast<u32>(slope);
      parts[part + MASS] = own.x;
      parts[part + MASS + 1u] = own.y;
    }`,
};

/** The draw from the partial results. A tile is a slot. */
export const SAMPLE_DRAW: LaneProgram = {
  name: "lab-decode-sample-draw",
  inputs: { logits: "f32", parts: "u32" },
  outputs: { state: "u32", seen: "u32", drawn: "vec4<u32>" },
  uniforms: SAMPLE_UNIFORMS,
  reductions: ["sum", "largest", "least", "count", "mass", "before"],
  header: `${HEADER}${SAMPLE_END}`,
  body: `
    let s = tile * SLOT_WORDS;
    let row = state[s + ROW];
    let base = tile * u.width;
    let many = chunks();
    let part0 = tile * many * PART_WORDS;
    let span = (many + step - 1u) / step;
    let begin = min(many, first * span);
    let end = min(many, begin + span);
    var top = -3.0e38;
    var best = -3.0e38;
    var most = 0u;
    var id = NO_TOKEN;
    var strange = 0u;
    var clips = 0u;
    var total = 0.0;
    var slope = 0.0;
    var own = vec2u(0);
    for (var c = begin; c < end; c++) {
      let part = part0 + c * PART_WORDS;
      top = max(top, real(part + TOP));
      best = max(best, real(part + BEST));
      if (parts[part + RANK] > most) { most = parts[part + RANK]; id = parts[part + FIRST_ID]; }
      strange += parts[part + ODD];
      clips += parts[part + CLIPS];
      total += real(part + TOTAL);
      slope += real(part + SLOPE);
      own = add64(own, vec2u(parts[part + MASS], parts[part + MASS + 1u]));
    }
    top = largest(top, lane);
    best = largest(best, lane);
    strange = count(strange, lane);
    clips = count(clips, lane);
    total = sum(total, lane);
    slope = sum(slope, lane);
    if (u.greedy != 0u) {
      let highest = ~least(~most, lane);
      id = select(NO_TOKEN, id, most == highest);
    } else {
      id = NO_TOKEN;
      let goal = placeIn(mass(own, lane), drawWord(s));
      var running = before(own, lane);
      var chunk = NO_TOKEN;
      var ahead = vec2u(0);
      if (!below64(goal, running) && below64(goal, add64(running, own))) {
        for (var c = begin; c < end; c++) {
          let part = part0 + c * PART_WORDS;
          let next = add64(running, vec2u(parts[part + MASS], parts[part + MASS + 1u]));
          if (below64(goal, next)) { chunk = c; ahead = running; break; }
          running = next;
        }
      }
      chunk = least(chunk, lane);
      ahead = mass(ahead, lane);
      let start = min(u.width, chunk * CHUNK);
      let stop = select(min(u.width, start + CHUNK), start, chunk == NO_TOKEN);
      let each = (stop - start + step - 1u) / step;
      let low = min(stop, start + first * each);
      let high = min(stop, low + each);
      own = vec2u(0);
      for (var i = low; i < high; i++) {
        let x = logits[base + i];
        if (isNumber(x)) { own = add64(own, vec2u(kept(exp(score(x, row, i) - best)), 0u)); }
      }
      running = add64(ahead, before(own, lane));
      if (!below64(goal, running) && below64(goal, add64(running, own))) {
        for (var i = low; i < high; i++) {
          let x = logits[base + i];
          if (isNumber(x)) { running = add64(running, vec2u(kept(exp(score(x, row, i) - best)), 0u)); }
          if (below64(goal, running)) { id = i; break; }
        }
      }
    }
    id = least(id, lane);
    if (first == 0u) { finish(s, row, base, id, top, total, slope, clips, strange); }`,
};
