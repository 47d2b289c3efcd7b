/** What the programs of each class must keep on every card, and the table of what a card's compiler makes of them. */
import type { ProgramClass } from "./card-programs.ts";
import { type Compilation, type CompiledProgram, FAMILIES } from "./null-card.ts";

interface Bounds {
  /** Least multiply-adds per vector instruction. */
  readonly share: number;
  /** Least waves per SIMD of RDNA; other cards need a share of them (`FAMILIES`). */
  readonly waves: number;
  /** Most clamped indices per multiply-add. */
  readonly clamps: number;
}

/** Waves per SIMD below which a card cannot hide the latency of memory. */
const WAVES = 4;

const bounds = (share: number, clamps: number, waves = WAVES): Bounds => ({ share, clamps, waves });

/**
 * Bounds by class of programs, for GCN and RDNA with Mesa 22.3 and newer. Attention counts all of an iteration over a
 * tile; decoding keeps the sums of eight slots in registers, and a register product those of its tile.
 */
export const BOUNDS: Readonly<Record<ProgramClass, Bounds>> = {
  "product of large tiles": bounds(0.83, 0.01),
  "product of large tiles with vectors": bounds(0.88, 0.01),
  "product of middle tiles": bounds(0.66, 0.01),
  "product of middle tiles with vectors": bounds(0.71, 0.01),
  "product of small tiles": bounds(0.57, 0.01),
  "product in registers": bounds(0.2, 0, 2),
  "packed product of large tiles": bounds(0.82, 0.01),
  "packed gradient of large tiles": bounds(0.82, 0.01),
  "packed product of large tiles in f16": bounds(1.2, 0.01),
  "packed gradient of large tiles in f16": bounds(1.2, 0.01),
  "packed product of middle tiles": bounds(0.68, 0.03),
  "packed gradient of middle tiles": bounds(0.6, 0.04),
  "packed product of middle tiles in f16": bounds(1, 0.03),
  "packed gradient of middle tiles in f16": bounds(0.85, 0.04),
  "packed product of small tiles": bounds(0.6, 0.02),
  "packed gradient of small tiles": bounds(0.6, 0.02),
  "packed product of small tiles in f16": bounds(0.9, 0.02),
  "packed gradient of small tiles in f16": bounds(0.85, 0.02),
  "packed product of few rows": bounds(0.14, 0),
  "packed product in subgroup matrices": bounds(0, 0.5),
  attention: bounds(0.7, 0.03, 3),
  "attention gradient": bounds(0.76, 0.03, 3),
  "decode product": bounds(0.14, 0, 2),
  other: bounds(0, 0),
};

/** Sentences on the programs of a family that do not keep their bounds. */
export function failuresOf({ family, programs }: Compilation): string[] {
  return programs.flatMap((program) => {
    const { name, kind, error, work } = program;
    const bounds = BOUNDS[kind];
    const waves = Math.ceil(bounds.waves * FAMILIES[family].waves);
    const found: string[] = [];
    if (error !== null) return [`${family}: ${name} does not compile: ${error}`];
    if (program.spills > 0 || program.scratch > 0)
      found.push(`spills ${program.spills} registers, ${program.scratch} B`);
    if (program.waves < waves) found.push(`has ${program.waves} waves per SIMD, not ${waves}`);
    if (program.threads < 64) found.push(`has workgroups of ${program.threads} threads`);
    // The bounds of what a loop issues are for AMD's vector instructions.
    if (work === null || FAMILIES[family].driver !== "radv") return found.map((what) => `${family}: ${name} ${what}`);
    if (share(program) < bounds.share) {
      found.push(`has a share of ${share(program).toFixed(2)}, not ${bounds.share}`);
    }
    if (perMultiplyAdd(program, "clamps") > bounds.clamps) {
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
instruction takes the place of another, so all are counted. Mesa's driver for Apple shows no instructions. Clamps and LDS words:
clamped indices, and words read from workgroup memory, per multiply-add. Source: hash of the WGSL. The makers' own compilers may
decide otherwise. The bounds that a test asserts are in \`scripts/lib/isa/bounds.ts\`.

${compiled.map(table).join("\n\n")}
`;
}
