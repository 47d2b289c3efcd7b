/**
 * Reads the statistics and the assembly that the null card writes for a pipeline (bench/tool/nullcard.c), for the
 * instruction sets of AMD and NVIDIA: counts per loop, and the share of multiply-adds among the instructions that take
 * the place of one.
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
  /** Instructions that take the place of a multiply-add: AMD's vector instructions, all of NVIDIA's. */
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

/** Blocks by number: a loop, which begins at its head, or a region that waves may jump over. */
interface Region {
  readonly head: number;
  readonly body: ReadonlySet<number>;
}

/** How the assembly of one maker's cards is read. */
interface Dialect {
  /** The name of the block that begins at a line. */
  label(line: string): string | undefined;
  /** The instruction of a line. */
  instruction(line: string): string | undefined;
  /** The block that an instruction jumps to. */
  target(line: string): string | undefined;
  /** Whether the next block cannot follow an instruction. */
  ends(line: string): boolean;
  /** Whether a wave jumps only if none of its threads is active. */
  skips(line: string): boolean;
  /** Whether all threads of a wave jump together. */
  jumps(line: string): boolean;
  counts(line: string): Counts;
}

const NONE: Counts = { vector: 0, multiplyAdds: 0, clamps: 0, localWords: 0, globalWords: 0 };

const plus = (a: Counts, b: Counts, times: number): Counts => ({
  vector: a.vector + times * b.vector,
  multiplyAdds: a.multiplyAdds + times * b.multiplyAdds,
  clamps: a.clamps + times * b.clamps,
  localWords: a.localWords + times * b.localWords,
  globalWords: a.globalWords + times * b.globalWords,
});

const MULTIPLY_ADD =
  /^v_(?:fma|fmac|mac|mad|fmaak|fmamk|madmk|madak|fma_mix|fma_mixlo|fma_mixhi)(?:_legacy)?_f(?:16|32)/;

/** Multiply-adds of an instruction per lane: two in packed halves, one or two in a dual instruction. */
function multiplyAdds(line: string): number {
  if (line.startsWith("v_dual_"))
    return line.split("::").filter((part) => /v_dual_(?:fmac|fmaak|fmamk)/.test(part)).length;
  if (/^v_pk_(?:fma|mad)_f16/.test(line) || line.startsWith("v_dot2")) return 2;
  return MULTIPLY_ADD.test(line) || line.startsWith("v_fma_mix") ? 1 : 0;
}

/** Words that one of AMD's loads reads. */
function words(line: string): number {
  const name = line.split(/\s/)[0] as string;
  const one = /(?:128|x4)$/.test(name) ? 4 : /(?:96|x3)$/.test(name) ? 3 : /(?:64|x2)$/.test(name) ? 2 : 1;
  return /read2|2addr/.test(name) ? 2 * one : one;
}

const AMD: Dialect = {
  label: (line) => /^(BB\d+):/.exec(line)?.[1],
  instruction: (line) => {
    const text = (line.split(";")[0] as string).trim();
    return /^[a-z]+_/.test(text) ? text : undefined;
  },
  target: (line) => (/^s_c?branch/.test(line) ? line.split(/\s+/).at(-1) : undefined),
  ends: (line) => /^s_(?:branch|endpgm)/.test(line),
  skips: (line) => line.startsWith("s_cbranch_execz"),
  jumps: (line) => /^s_cbranch_(?:scc|vcc)/.test(line),
  counts: (line) => ({
    vector: line.startsWith("v_") ? 1 : 0,
    multiplyAdds: multiplyAdds(line),
    clamps: /^v_(?:pk_)?min_[ui](?:16|32)/.test(line) ? 1 : 0,
    localWords: /^ds_(?:load|read)/.test(line) ? words(line) : 0,
    globalWords: /^(?:buffer|global|flat)_load/.test(line) ? words(line) : 0,
  }),
};

/** A scheduler of an NVIDIA card starts one instruction of any kind in a cycle, so each takes the place of another. */
const NVIDIA: Dialect = {
  label: (line) => /^block\S* \d+ (L\d+)/.exec(line)?.[1],
  instruction: (line) => {
    const text = (line.split("//")[0] as string).trim();
    return text === "" || /^(?:block|\})/.test(text) ? undefined : text.replace(/^(@\S+\s+)?(?:[^=[]*=\s+)?/, "$1");
  },
  target: (line) => /\bbra\b.* (L\d+)$/.exec(line)?.[1],
  ends: (line) => /^(?:bra pT|exit)\b/.test(line),
  skips: (line) => /^@\S+\s+bra\b/.test(line),
  jumps: (line) => /^bra !?up\d/.test(line),
  counts: (line) => {
    const name = line.replace(/^@\S+\s+/, "").split(/\s/)[0] as string;
    const read = Number(/\.b(\d+)$/.exec(name)?.[1] ?? 0) / 32;
    return {
      vector: 1,
      multiplyAdds: name.startsWith("ffma") ? 1 : name.startsWith("hfma2") ? 2 : 0,
      clamps: /^v?imnmx/.test(name) ? 1 : 0,
      localWords: name.startsWith("ld.shared") ? Math.ceil(read) : 0,
      globalWords: name.startsWith("ld.global") ? Math.ceil(read) : 0,
    };
  },
};

function blocksOf({ label, instruction }: Dialect, assembly: string): Block[] {
  const blocks: Block[] = [];
  for (const line of assembly.split("\n")) {
    const name = label(line);
    if (name !== undefined) blocks.push({ name, lines: [] });
    const text = instruction(line);
    if (text !== undefined) blocks.at(-1)?.lines.push(text);
  }
  return blocks;
}

/** Of every block, those that it follows. */
function beforeOf({ target, ends }: Dialect, blocks: readonly Block[]): readonly (readonly number[])[] {
  const place = new Map(blocks.map(({ name }, at) => [name, at]));
  const before = blocks.map((): number[] => []);
  blocks.forEach(({ lines }, at) => {
    const jumps = lines.map((line) => place.get(target(line) ?? ""));
    const next = lines.some(ends) ? undefined : at + 1;
    for (const to of [...jumps, next]) if (to !== undefined) before[to]?.push(at);
  });
  return before;
}

/** Loops: with every jump back, the blocks from which it is reached without passing its target. */
function loopsOf(before: readonly (readonly number[])[]): Region[] {
  const loops = new Map<number, Set<number>>();
  before.forEach((from, head) => {
    const waiting = from.filter((at) => at >= head);
    if (waiting.length === 0) return;
    const body = new Set([head]);
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (body.has(at)) continue;
      body.add(at);
      waiting.push(...(before[at] as number[]));
    }
    loops.set(head, body);
  });
  return [...loops].map(([head, body]) => ({ head, body }));
}

/** Counts of the way through a loop with the most instructions: of alternatives, a thread takes one. */
function longestWay({ head, body }: Region, before: readonly (readonly number[])[], each: readonly Counts[]): Counts {
  const ways = new Map<number, Counts>();
  const longest = (from: readonly number[]): Counts =>
    from.reduce((most, at) => ((ways.get(at)?.vector ?? 0) > most.vector ? (ways.get(at) as Counts) : most), NONE);
  for (const at of [...body].sort((a, b) => a - b)) {
    const from = at === head ? [] : (before[at] as readonly number[]);
    ways.set(at, plus(longest(from), each[at] as Counts, 1));
  }
  return longest(before[head] as readonly number[]);
}

/** Blocks that a wave jumps over with a branch of a kind in the block before them. */
function regionsOf({ target }: Dialect, kind: (line: string) => boolean, blocks: readonly Block[]): Region[] {
  const place = new Map(blocks.map(({ name }, at) => [name, at]));
  return blocks.flatMap(({ lines }, at) =>
    lines.filter(kind).flatMap((branch) => {
      const end = place.get(target(branch) ?? "") ?? 0;
      const body = new Set(Array.from({ length: Math.max(0, end - at - 1) }, (_, n) => at + 1 + n));
      return body.size === 0 ? [] : [{ head: at + 1, body }];
    }),
  );
}

const within = (inner: Region, outer: Region): boolean =>
  inner !== outer && inner.body.size < outer.body.size && [...inner.body].every((at) => outer.body.has(at));

const copies = ({ localWords, globalWords }: Counts): boolean => localWords === 0 && globalWords > 0;
const clears = ({ multiplyAdds, localWords, globalWords }: Counts): boolean =>
  multiplyAdds + localWords + globalWords === 0;

/**
 * Counts of the loop that does a kernel's work; undefined without a loop that multiplies. That is with trips one round
 * of the loop that fills workgroup memory and multiplies, else the longest way through the innermost loop with the most
 * multiply-adds.
 */
export function workOf(assembly: string, trips?: Trips): Counts | undefined {
  const dialect = assembly.startsWith("block") ? NVIDIA : AMD;
  const blocks = blocksOf(dialect, assembly);
  const each = blocks.map(({ lines }) => lines.reduce((sum, line) => plus(sum, dialect.counts(line), 1), NONE));
  const before = beforeOf(dialect, blocks);
  const loops = loopsOf(before);
  const total = ({ body }: Region): Counts => [...body].reduce((sum, at) => plus(sum, each[at] as Counts, 1), NONE);
  const depth = (loop: Region): number => loops.filter((other) => within(loop, other)).length;
  const multiplying = loops.filter((loop) => total(loop).multiplyAdds > 0);
  const rounds = multiplying.filter((loop) => total(loop).localWords > 0 && total(loop).globalWords > 0);
  const round = rounds.sort((a, b) => depth(b) - depth(a))[0];
  if (trips !== undefined && round !== undefined) {
    // Copies that only some waves of a workgroup have; the others jump over them.
    const skips = regionsOf(dialect, dialect.skips, blocks).filter((skip) => copies(total(skip)));
    // Only the last round has steps beyond the end of K, and clears them.
    const ends = regionsOf(dialect, dialect.jumps, blocks).filter((end) => within(end, round) && clears(total(end)));
    let sum = NONE;
    for (const at of round.body) {
      if (ends.some(({ body }) => body.has(at))) continue;
      const around = [...loops, ...skips].filter((region) => within(region, round) && region.body.has(at));
      const times = around.map((region) =>
        skips.includes(region) ? Math.min(1, trips.load) : copies(total(region)) ? trips.load : trips.multiply,
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
  return most && longestWay(most, before, each);
}
