/** What the programs of each class must keep on every card, and the table of what a card's compiler makes of them. */
import type { ProgramClass } from "./card-programs.ts";
import { type Compilation, type CompiledProgram, FAMILIES } from "./null-card.ts";

interface Bounds {
  /** Least multiply-adds per vector instruction of AMD's cards. */
  readonly share: number;
  /** Least multiply-adds per instruction of NVIDIA's cards, where they are bounded. */
  readonly nvidia?: number;
  /** Least waves per SIMD of RDNA; other cards need a share of them (`FAMILIES`). */
  readonly waves: number;
  /** Most clamped indices per multiply-add. */
  readonly clamps: number;
}

/** Waves per SIMD below which a card cannot hide the latency of memory. */
const WAVES = 4;

const bounds = (share: number, clamps: number, waves = WAVES): Bounds => ({ share, clamps, waves });
const both = (share: number, nvidia: number): Bounds => ({ ...bounds(share, 0.01), nvidia });

/**
 * Bounds by class of programs, for GCN and RDNA with Mesa 22.3 and newer. Attention counts all of an iteration over a
 * tile; decoding keeps the sums of eight slots in registers, and a register product those of its tile.
 */
export const BOUNDS: Readonly<Record<ProgramClass, Bounds>> = {
  "product of huge tiles": both(0.92, 0.8),
  "product of huge tiles with vectors": both(0.96, 0.83),
  "product of large tiles": both(0.91, 0.76),
  "product of large tiles with vectors": both(0.95, 0.8),
  "product of middle tiles": both(0.86, 0.68),
  "product of middle tiles with vectors": both(0.93, 0.73),
  "product of small tiles": both(0.71, 0.33),
  "product in registers": bounds(0.2, 0, 2),
  "packed product of huge tiles": both(0.94, 0.83),
  "packed gradient of huge tiles": both(0.92, 0.82),
  "packed product of huge tiles in f16": bounds(1.33, 0.01),
  "packed gradient of huge tiles in f16": bounds(1.33, 0.01),
  "packed product of large tiles": both(0.9, 0.8),
  "packed gradient of large tiles": both(0.88, 0.79),
  "packed product of large tiles in f16": bounds(1.28, 0.01),
  "packed gradient of large tiles in f16": bounds(1.27, 0.01),
  "packed product of middle tiles": both(0.89, 0.73),
  "packed gradient of middle tiles": both(0.87, 0.72),
  "packed product of middle tiles in f16": bounds(1.24, 0.01),
  "packed gradient of middle tiles in f16": bounds(1.23, 0.01),
  "packed product of small tiles": both(0.83, 0.6),
  "packed gradient of small tiles": both(0.79, 0.58),
  "packed product of small tiles in f16": bounds(1.2, 0.01),
  "packed gradient of small tiles in f16": bounds(1.15, 0.01),
  "packed product of few rows": bounds(0.14, 0),
  "packed product in subgroup matrices": bounds(0, 0.5),
  attention: { ...bounds(0.84, 0.02), nvidia: 0.75 },
  "attention gradient": { ...bounds(0.88, 0.02), nvidia: 0.7 },
  "decode product of eight rows": { ...bounds(0.72, 0, 2), nvidia: 0.22 },
  "decode product of fewer rows": { ...bounds(0.39, 0, 2), nvidia: 0.08 },
  "decode product of eight rows, staged": { ...bounds(0.64, 0.02, 2), nvidia: 0.5 },
  "decode product of fewer rows, staged": { ...bounds(0.26, 0.02, 2), nvidia: 0.28 },
  other: bounds(0, 0),
};

/** What a class should reach. */
export function aimOf(kind: ProgramClass): number {
  if (kind === "other") return 0;
  if (kind === "attention") return 0.75;
  if (kind === "attention gradient" || kind.startsWith("decode product")) return 0.7;
  return kind.endsWith("in f16") ? 1.2 : 0.8;
}

const SMALLER = "4 × 4 results a thread or fewer, for results that large tiles would leave most of a card idle with";
const MEMORY = "memory limits it: few rows share each weight";

/** Classes whose bound is below their aim, with the reason. */
export const BELOW_AIM: Readonly<Partial<Record<ProgramClass, string>>> = {
  "product of small tiles": SMALLER,
  "product in registers": "for shapes under 32 rows or columns, which memory limits",
  "packed gradient of small tiles": SMALLER,
  "packed gradient of small tiles in f16": SMALLER,
  "packed product of few rows": MEMORY,
  "packed product in subgroup matrices": "its multiplications are those of units, which are not counted",
  "decode product of fewer rows": "memory limits it: four multiply-adds or fewer per weight",
  "decode product of eight rows, staged": "NVIDIA's cards have this form",
  "decode product of fewer rows, staged": "NVIDIA's cards have this form",
};

/** Each word that a thread copies from global memory to workgroup memory. */
const WORD = "a load, a store, a check of its bounds and two addresses";
/** What a share cannot exceed: per step of K of a thread, without the loop and its barriers. */
const most = (multiplyAdds: number, reads: number, words: number, own = 5): string =>
  `a thread's step of ${multiplyAdds} multiply-adds has ${reads} reads of workgroup memory and ${words === 1 ? "a word" : `${words} words`} to copy, each with ${WORD}${own > 5 ? `, and ${own - 5} instructions for its row` : ""}: at most ${(multiplyAdds / (multiplyAdds + reads + own * words)).toFixed(2)} without its loop and barriers`;
const MIDDLE = most(32, 3, 1);
const SMALL = most(16, 2, 1);
/** Shares without checks: of the driver with robustBufferAccess, robustBufferAccess2 and nullDescriptor switched off. */
const unchecked = (least: number, most: number): string =>
  `${least.toFixed(2)} to ${most.toFixed(2)} where Mesa checks no index`;
const LOADED =
  "weights without scales, which memory limits (an RTX 3090 from 0.21 on, in f16): a row's inputs are loaded for four columns";
const STAGED =
  "a staged input serves 16 or 32 columns, and each word of it and of the weights has a check and addresses";

/** Why classes of products are below their aim on NVIDIA's cards. */
export const BELOW_AIM_ON_NVIDIA: Readonly<Partial<Record<ProgramClass, string>>> = {
  "product of large tiles": most(64, 4, 1.5, 8),
  "product of middle tiles": most(32, 3, 1, 8),
  "product of middle tiles with vectors": `${MIDDLE}; 8 × 8 results a thread reach 0.79 and leave two of four schedulers idle, tiles of 32 steps reach 0.75`,
  "product of small tiles": `${most(16, 2, 1, 8)}, of 4 multiply-adds 0.38; 32 × 64 results, 8 × 4 a thread, reach 0.71 in half as many workgroups`,
  "packed gradient of large tiles": "0.8 but for q8 and q4 without vectors, whose words each have a row besides",
  "packed product of middle tiles": `${MIDDLE}, or is unpacked`,
  "packed gradient of middle tiles": `${MIDDLE}, or is unpacked`,
  "decode product of eight rows": `${LOADED}; ${unchecked(0.4, 0.51)}`,
  "decode product of fewer rows": `${LOADED}; ${unchecked(0.19, 0.45)}`,
  "decode product of eight rows, staged": `${STAGED}; ${unchecked(0.61, 0.73)}`,
  "decode product of fewer rows, staged": `${STAGED}; ${unchecked(0.35, 0.64)}`,
  "packed product of small tiles": `${SMALL}, or is unpacked`,
  "packed gradient of small tiles": `${SMALL}, or is unpacked`,
};

/** Waves that programs without their class's need. */
const FEW_WAVES = 2;

/** Programs that do not keep a bound of their class, with the reason. */
const EXCEPTIONS: readonly {
  readonly programs: RegExp;
  readonly of: "share on NVIDIA's cards" | "spills on AMD's and Apple's cards" | "spills on Apple's cards" | "waves";
  readonly why: string;
}[] = [
  {
    programs: /^lab-attention-tiles-(?:32-(?:32|64)|grad-\w+-32-(?:32|64)-2|grad-\w+-16-(?:16|32)-2)-/,
    of: "share on NVIDIA's cards",
    why: "other makers' cards have this form, with fewer products a load and more waves",
  },
  {
    programs: /^lab-attention-tiles-(?:(?:48|56|64)-64|grad-\w+-(?:24-64-3|32-64-4))-/,
    of: "waves",
    why: "NVIDIA's cards have this form: a thread computes 6 to 8 × 4 scores, or 3 or 4 × 4 of a gradient, in the registers of two others",
  },
  {
    programs: /^lab-attention-tiles-(?:(?:48|56|64)-64|grad-\w+-(?:24-64-3|32-64-4))-/,
    of: "spills on AMD's and Apple's cards",
    why: "NVIDIA's cards have this form",
  },
  {
    programs: /^lab-attention-tiles-(?:32-64|grad-\w+-16-32-2)-(?:18|20|24|32)/,
    of: "spills on Apple's cards",
    why: "their built-in forms pass over 64 keys with heads of 64 only, and over 32 with wider ones",
  },
  {
    programs: /^lab-packed-\w+-backward-tiles-128-128-16-8-8-f16$/,
    of: "spills on AMD's and Apple's cards",
    why: "NVIDIA's cards have this form",
  },
  {
    programs: /^lab-(?:packed-\w+-backward-tiles-64-128-16-8-8-f16$|matmul-rows-along-k-8-2-1-wide)/,
    of: "spills on Apple's cards",
    why: "all registers hold sums and loads; where sizes divide by 4, gradients have the program with vectors, which spills nothing",
  },
  {
    programs: /^lab-attention-tiles-(?:32-(?:32|64)|grad-\w+-(?:32-64|16-(?:16|32))-2)-(?:24|32)/,
    of: "waves",
    why: "the rows of heads of 96 and 128 fill workgroup memory, or the registers of NVIDIA's cards, whose compiler loads ahead of time",
  },
];

/** Sentences on the programs of a family that do not keep their bounds. */
export function failuresOf({ family, programs }: Compilation): string[] {
  return programs.flatMap((program) => {
    const { name, kind, error, work } = program;
    const bounds = BOUNDS[kind];
    const { driver } = FAMILIES[family];
    const excepted = (what: (typeof EXCEPTIONS)[number]["of"]): boolean =>
      EXCEPTIONS.some(({ of, programs }) => of === what && programs.test(name));
    const waves = Math.ceil((excepted("waves") ? FEW_WAVES : bounds.waves) * FAMILIES[family].waves);
    const found: string[] = [];
    if (error !== null) return [`${family}: ${name} does not compile: ${error}`];
    const spilling =
      (driver !== "nvk" && excepted("spills on AMD's and Apple's cards")) ||
      (driver === "honeykrisp" && excepted("spills on Apple's cards"));
    if (!spilling && (program.spills > 0 || program.scratch > 0))
      found.push(`spills ${program.spills} registers, ${program.scratch} B`);
    if (program.waves < waves) found.push(`has ${program.waves} waves per SIMD, not ${waves}`);
    if (program.threads < 64) found.push(`has workgroups of ${program.threads} threads`);
    const nvidia = excepted("share on NVIDIA's cards") ? undefined : bounds.nvidia;
    const least = { radv: bounds.share, nvk: nvidia, honeykrisp: undefined }[driver];
    if (work !== null && least !== undefined && share(program) < least) {
      found.push(`has a share of ${share(program).toFixed(2)}, not ${least}`);
    }
    // The bound of clamps is for AMD's vector instructions.
    if (work !== null && driver === "radv" && perMultiplyAdd(program, "clamps") > bounds.clamps) {
      found.push(`clamps ${perMultiplyAdd(program, "clamps").toFixed(2)} indices per multiply-add`);
    }
    return found.map((what) => `${family}: ${name} ${what}`);
  });
}

/** Multiply-adds per vector instruction: at most 1, in packed halves 2. */
const share = ({ work }: CompiledProgram): number => (work === null ? 0 : work.multiplyAdds / Math.max(1, work.vector));

const perMultiplyAdd = ({ work }: CompiledProgram, what: "clamps" | "localWords" | "globalWords"): number =>
  work === null ? 0 : work[what] / Math.max(1, work.multiplyAdds);

const HEAD = ["program", "VGPR", "spills", "scratch", "LDS", "waves", "share", "clamps", "LDS words", "source"];

function rowOf(program: CompiledProgram): string[] {
  const counted = program.work !== null && program.work.multiplyAdds > 0;
  const number = (value: number): string => (counted ? value.toFixed(2) : "");
  return [
    program.name.replace(/-literal$/, ""),
    ...[program.registers, program.spills, program.scratch, program.local ?? "", program.waves].map(String),
    number(share(program)),
    number(perMultiplyAdd(program, "clamps")),
    number(perMultiplyAdd(program, "localWords")),
    program.source,
  ];
}

/** A family's programs as an aligned table. */
export function familyTable({ family, adapter, programs }: Compilation): string {
  const rows = [HEAD, ...programs.map(rowOf)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] as number) : cell.padStart(widths[at] as number)))
      .join("  ");
  return [`${FAMILIES[family].title}, ${adapter}`, ...rows.map(line)].join("\n");
}

/** The page `docs/performance/isa.md`. */
export function isaDocument(compiled: readonly Compilation[]): string {
  const table = ({ family, adapter, programs }: Compilation): string =>
    [
      `## ${FAMILIES[family].title}`,
      "",
      `Family \`${family}\`, ${adapter}.`,
      "",
      `| ${HEAD.join(" | ")} |`,
      `| ${HEAD.map((_, at) => (at === 0 ? "---" : "---:")).join(" | ")} |`,
      ...programs.map((program) => `| ${rowOf(program).join(" | ")} |`),
    ].join("\n");
  return `# What cards' compilers make of the kernels

Generated by \`npm run isa\`, which compiles every form with Mesa's drivers for cards that are not there. No kernel runs, so
there are no times. VGPR: vector registers of a thread; Apple's have 16 bits. Scratch and LDS: bytes per wave and per workgroup.
Waves: per SIMD. Share: multiply-adds per vector instruction of the loop that does the work (at most 1; in packed halves 2): the
part of the card's peak that the kernel can reach. AMD issues loads and branches beside vector instructions; on NVIDIA every
instruction takes the place of another, so all are counted; a vector of four from global memory is four loads there, each with
a check, because Dawn asks drivers with VK_EXT_robustness2 for robust storage buffers instead of clamping indices itself, and Mesa
checks words. What only the last round of a product executes is not counted. Mesa's driver for Apple shows no instructions. Clamps and LDS words:
clamped indices, and words read from workgroup memory, per multiply-add. Source: hash of the WGSL. The makers' own compilers may
decide otherwise. The bounds that a test asserts are in \`scripts/lib/isa/bounds.ts\`. Exceptions:

${Object.entries(BELOW_AIM)
  .map(
    ([kind, why]) =>
      `- share of class "${kind}", ${BOUNDS[kind as ProgramClass].share} where ${aimOf(kind as ProgramClass)} is the aim: ${why}.`,
  )
  .join("\n")}
${(Object.keys(BOUNDS) as ProgramClass[])
  .filter((kind) => (BOUNDS[kind].nvidia ?? Number.POSITIVE_INFINITY) < aimOf(kind))
  .map(
    (kind) =>
      `- share of class "${kind}" on NVIDIA's cards, ${BOUNDS[kind].nvidia} where ${aimOf(kind)} is the aim: ${BELOW_AIM_ON_NVIDIA[kind]}.`,
  )
  .join("\n")}
${EXCEPTIONS.map(({ programs, of, why }) => `- ${of}, \`${programs.source}\`: ${why}.`).join("\n")}

${compiled.map(table).join("\n\n")}
`;
}
