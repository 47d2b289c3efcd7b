/**
 * The draw of sample.ts for large vocabularies, by many workgroups: the logits of a slot are cut into chunks. Three
 * dispatches: the largest scores of each chunk, the masses of the chunks relative to the largest of all, and the draw,
 * which finds the chunk and then the token. Masses are the same integers in the same order as in sample.ts, so the
 * token is the same. Log-probability and entropy add in another order and may differ in the last bits. Top-k and top-p
 * search all logits repeatedly for a border, so they use sample.ts.
 */
import type { LaneProgram } from "./lanes.ts";
import { SAMPLE_END, SAMPLE_HEADER, SAMPLE_UNIFORMS } from "./sample.ts";

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
