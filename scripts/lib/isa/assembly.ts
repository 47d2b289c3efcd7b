/**
 * Reads the statistics and the assembly that the null card writes for a pipeline (bench/tool/nullcard.c), for AMD's
 * instruction sets: counts per loop, and the share of multiply-adds among the vector instructions.
 */

/** What one pipeline's log says. */
export interface PipelineLog {
  readonly statistics: Readonly<Record<string, number>>;
  readonly assembly: string;
}

/** Trips of a tiled kernel's inner loops per trip of the loop around them, unless the compiler unrolled them. */
export interface Trips {
  /**
   * Of the loops that copy from global memory into workgroup memory; below 1, the share of waves that have a load that
   * others jump over.
   */
  readonly load: number;
  /** Of the loops that multiply. */
  readonly multiply: number;
}

/** Counts of instructions; fractions are averages over trips. */
export interface Counts {
  readonly vector: number;
  readonly multiplyAdds: number;
  /** Integer minima of vectors: how a compiler clamps an index that it cannot bound. */
  readonly clamps: number;
  /** 32-bit words that a thread reads from workgroup memory, and from global memory. */
  readonly localWords: number;
  readonly globalWords: number;
}

/** The logs of pipelines, in the order of their creation. */
export function readLog(text: string): PipelineLog[] {
  const logs: PipelineLog[] = [];
  let statistics: Record<string, number> = {};
  let assembly: string[] = [];
  let inside = false;
  for (const line of text.split("\n")) {
    if (inside) {
      if (line === ">>") inside = false;
      else assembly.push(line);
    } else if (line === "<<") {
      inside = true;
    } else if (line === "end") {
      logs.push({ statistics, assembly: assembly.join("\n") });
      [statistics, assembly] = [{}, []];
    } else {
      const [name, value] = line.split("\t");
      if (name !== undefined && value !== undefined) statistics[name] = Number(value);
    }
  }
  return logs;
}

interface Block {
  readonly name: string;
  readonly lines: string[];
}

/** A loop: from the block at its head to the last block that jumps back to it. */
interface Loop {
  readonly head: number;
  readonly last: number;
}

function blocksOf(assembly: string): Block[] {
  const blocks: Block[] = [];
  for (const line of assembly.split("\n")) {
    const label = /^(BB\d+):/.exec(line)?.[1];
    if (label !== undefined) blocks.push({ name: label, lines: [] });
    const text = (line.split(";")[0] as string).trim();
    if (/^[a-z]+_/.test(text)) blocks.at(-1)?.lines.push(text);
  }
  return blocks;
}

function loopsOf(blocks: readonly Block[]): Loop[] {
  const place = new Map(blocks.map(({ name }, at) => [name, at]));
  const ends = new Map<number, number>();
  blocks.forEach(({ lines }, at) => {
    for (const line of lines) {
      if (!/^s_c?branch/.test(line)) continue;
      const head = place.get(line.split(/\s+/).at(-1) ?? "");
      if (head !== undefined && head <= at) ends.set(head, Math.max(at, ends.get(head) ?? 0));
    }
  });
  return [...ends].map(([head, last]) => ({ head, last }));
}

/** Blocks that a wave jumps over if none of its threads is active. */
function skipsOf(blocks: readonly Block[]): Loop[] {
  const place = new Map(blocks.map(({ name }, at) => [name, at]));
  return blocks.flatMap(({ lines }, at) => {
    const branch = lines.find((line) => line.startsWith("s_cbranch_execz"));
    const target = place.get(branch?.split(/\s+/).at(-1) ?? "") ?? 0;
    return target > at + 1 ? [{ head: at + 1, last: target - 1 }] : [];
  });
}

const within = (inner: Loop, outer: Loop): boolean =>
  inner !== outer && inner.head >= outer.head && inner.last <= outer.last;

const MULTIPLY_ADD =
  /^v_(?:fma|fmac|mac|mad|fmaak|fmamk|madmk|madak|fma_mix|fma_mixlo|fma_mixhi)(?:_legacy)?_f(?:16|32)/;

/** Multiply-adds of an instruction per lane: two in packed halves, one or two in a dual instruction. */
function multiplyAdds(line: string): number {
  if (line.startsWith("v_dual_"))
    return line.split("::").filter((part) => /v_dual_(?:fmac|fmaak|fmamk)/.test(part)).length;
  if (/^v_pk_(?:fma|mad)_f16/.test(line) || line.startsWith("v_dot2")) return 2;
  return MULTIPLY_ADD.test(line) || line.startsWith("v_fma_mix") ? 1 : 0;
}

function words(line: string): number {
  const name = line.split(/\s/)[0] as string;
  const one = /(?:128|x4)$/.test(name) ? 4 : /(?:96|x3)$/.test(name) ? 3 : /(?:64|x2)$/.test(name) ? 2 : 1;
  return /read2|2addr/.test(name) ? 2 * one : one;
}

const NONE: Counts = { vector: 0, multiplyAdds: 0, clamps: 0, localWords: 0, globalWords: 0 };

const plus = (a: Counts, b: Counts, times: number): Counts => ({
  vector: a.vector + times * b.vector,
  multiplyAdds: a.multiplyAdds + times * b.multiplyAdds,
  clamps: a.clamps + times * b.clamps,
  localWords: a.localWords + times * b.localWords,
  globalWords: a.globalWords + times * b.globalWords,
});

function countsOf(lines: readonly string[]): Counts {
  return lines
    .map(
      (line): Counts => ({
        vector: line.startsWith("v_") ? 1 : 0,
        multiplyAdds: multiplyAdds(line),
        clamps: /^v_(?:pk_)?min_[ui](?:16|32)/.test(line) ? 1 : 0,
        localWords: /^ds_(?:load|read)/.test(line) ? words(line) : 0,
        globalWords: /^(?:buffer|global|flat)_load/.test(line) ? words(line) : 0,
      }),
    )
    .reduce((sum, one) => plus(sum, one, 1), NONE);
}

const copies = ({ localWords, globalWords }: Counts): boolean => localWords === 0 && globalWords > 0;

/**
 * Counts of the loop that does a kernel's work; undefined without a loop that multiplies. That is with trips one round
 * of the loop that fills workgroup memory and multiplies, else the innermost loop with the most multiply-adds.
 */
export function workOf(assembly: string, trips?: Trips): Counts | undefined {
  const blocks = blocksOf(assembly);
  const each = blocks.map(({ lines }) => countsOf(lines));
  const loops = loopsOf(blocks);
  const total = ({ head, last }: Loop): Counts =>
    each.slice(head, last + 1).reduce((sum, one) => plus(sum, one, 1), NONE);
  const depth = (loop: Loop): number => loops.filter((other) => within(loop, other)).length;
  const multiplying = loops.filter((loop) => total(loop).multiplyAdds > 0);
  const rounds = multiplying.filter((loop) => total(loop).localWords > 0 && total(loop).globalWords > 0);
  const round = rounds.sort((a, b) => depth(b) - depth(a))[0];
  if (trips !== undefined && round !== undefined) {
    // Copies that only some waves of a workgroup have; the others jump over them.
    const skips = skipsOf(blocks).filter((skip) => copies(total(skip)));
    let sum = NONE;
    for (let at = round.head; at <= round.last; at++) {
      const around = [...loops, ...skips].filter((loop) => within(loop, round) && loop.head <= at && at <= loop.last);
      const times = around.map((loop) =>
        skips.includes(loop) ? Math.min(1, trips.load) : copies(total(loop)) ? trips.load : trips.multiply,
      );
      sum = plus(
        sum,
        each[at] as Counts,
        times.reduce((a, b) => a * b, 1),
      );
    }
    return sum;
  }
  const innermost = multiplying.filter((loop) => !multiplying.some((other) => within(other, loop)));
  const most = innermost.sort((a, b) => total(b).multiplyAdds - total(a).multiplyAdds)[0];
  return most && total(most);
}
