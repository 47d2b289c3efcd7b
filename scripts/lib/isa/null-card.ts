/**
 * AMD's compiler without a card: builds the null Vulkan driver (bench/tool/nullcard.c) around Mesa's RADV in the
 * checkout's `.cache/isa`, and compiles the card programs on it in a separate process. Packages are downloaded and
 * unpacked there with apt-get and dpkg; nothing is installed.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { root } from "../ensure.mjs";
import type { Counts } from "./assembly.ts";
import type { ProgramClass } from "./card-programs.ts";
import type { DryStep } from "./step-model.ts";

const CACHE = join(root, ".cache", "isa");
const PACKAGES = ["mesa-vulkan-drivers", "libdrm2", "libdrm-amdgpu1", "libvulkan-dev"];

interface Family {
  /** Names in the releases of Mesa, newest first. */
  readonly names: readonly string[];
  readonly title: string;
  /** RDNA reports waves of 32 lanes; GCN has 64. */
  readonly rdna: boolean;
}

/** Cards whose instructions the tool compiles for. */
export const FAMILIES = {
  navi31: { names: ["navi31", "gfx1100"], title: "Radeon RX 7900 (RDNA 3)", rdna: true },
  phoenix: { names: ["phoenix", "gfx1103"], title: "Radeon 780M (RDNA 3)", rdna: true },
  navi23: { names: ["navi23", "gfx1032"], title: "Radeon RX 6600 (RDNA 2)", rdna: true },
  navi10: { names: ["navi10", "gfx1010"], title: "Radeon RX 5700 (RDNA)", rdna: true },
  vega10: { names: ["vega10"], title: "Radeon RX Vega (GCN 5)", rdna: false },
  polaris10: { names: ["polaris10"], title: "Radeon RX 480 (GCN 4)", rdna: false },
} as const satisfies Readonly<Record<string, Family>>;

export type FamilyName = keyof typeof FAMILIES;

/** What a card's compiler made of a program. */
export interface CompiledProgram {
  readonly name: string;
  readonly kind: ProgramClass;
  /** Threads of a workgroup. */
  readonly threads: number;
  /** First digits of the SHA-256 of the WGSL. */
  readonly source: string;
  readonly error: string | null;
  readonly registers: number;
  /** Spilled registers, scalar and vector. */
  readonly spills: number;
  /** Bytes per wave. */
  readonly scratch: number;
  /** Bytes of workgroup memory. */
  readonly local: number;
  readonly waves: number;
  /** Of the loop that does the work (assembly.ts); null without a loop that multiplies. */
  readonly work: Counts | null;
  readonly assembly?: string;
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status === 0) return stdout;
  const why = (error?.message ?? stderr.trim().split("\n").at(-1) ?? "").slice(0, 160);
  throw new LabError(
    "unsupported",
    `The null card needs ${command}, which failed (${why}); it runs on Debian and Ubuntu`,
  );
}

/** Downloads and unpacks the packages once; a folder that was interrupted is made again. */
function unpackedPackages(): string {
  const folder = join(CACHE, "root");
  if (existsSync(folder)) return folder;
  const [packages, partial] = [join(CACHE, "packages"), join(CACHE, "root-partial")];
  for (const path of [packages, partial]) rmSync(path, { recursive: true, force: true });
  mkdirSync(packages, { recursive: true });
  run("apt-get", ["download", ...PACKAGES], packages);
  for (const file of readdirSync(packages)) run("dpkg", ["-x", file, partial], packages);
  renameSync(partial, folder);
  return folder;
}

/** Folder of a library below `folder`, whose path includes the processor. */
function folderOf(folder: string, library: string): string {
  const parts = readdirSync(join(folder, "usr", "lib")).map((part) => join(folder, "usr", "lib", part));
  const found = parts.find((part) => existsSync(join(part, library)));
  if (found === undefined)
    throw new LabError("unsupported", `This distribution's Mesa has no ${library}, so there is no null card`);
  return found;
}

export interface NullCard {
  /** Environment of a process that uses the card; the family is still missing. */
  readonly env: Readonly<Record<string, string>>;
  readonly driver: string;
}

/**
 * Builds the driver, or returns the one built before.
 * @throws LabError("unsupported") without gcc, apt-get, dpkg, the packages or their libraries
 */
export function nullCard(): NullCard {
  mkdirSync(CACHE, { recursive: true });
  const packages = unpackedPackages();
  const libraries = folderOf(packages, "libvulkan_radeon.so");
  const driver = join(libraries, "libvulkan_radeon.so");
  const library = join(CACHE, "libnullcard.so");
  const source = join(root, "bench", "tool", "nullcard.c");
  run("gcc", ["-O1", "-shared", "-fPIC", "-I", join(packages, "usr", "include"), "-o", library, source, "-ldl"], CACHE);
  const manifest = join(CACHE, "nullcard.json");
  const icd = { ICD: { api_version: "1.3.0", library_path: library }, file_format_version: "1.0.0" };
  writeFileSync(manifest, JSON.stringify(icd));
  const env = {
    LD_LIBRARY_PATH: libraries,
    VK_ICD_FILENAMES: manifest,
    NULLCARD_DRIVER: driver,
    MESA_SHADER_CACHE_DISABLE: "true",
  };
  const { stdout } = spawnSync("ldd", [driver], { encoding: "utf8", env: { ...process.env, ...env } });
  const missing = /(\S+) => not found/.exec(stdout)?.[1];
  if (missing !== undefined)
    throw new LabError("unsupported", `The null card needs ${missing}; install mesa-vulkan-drivers`);
  return { env, driver };
}

/** The family's name in this release of Mesa. */
function nameIn(driver: string, family: FamilyName): string {
  const text = readFileSync(driver, "latin1").toLowerCase();
  const known = FAMILIES[family].names.find((name) => text.includes(`\0${name}\0`));
  if (known === undefined) throw badInput(`The Mesa of this distribution does not know the card ${family}`, family);
  return known;
}

interface Line extends Omit<CompiledProgram, "registers" | "spills" | "scratch" | "local" | "waves"> {
  readonly statistics: Readonly<Record<string, number>>;
}

export interface Compilation {
  readonly family: FamilyName;
  /** The driver's own words. */
  readonly adapter: string;
  readonly programs: readonly CompiledProgram[];
}

/** Runs a script on the null card of a family. @returns its output */
function onCard(family: FamilyName, script: string, args: (log: string) => readonly string[]): string {
  const { env, driver } = nullCard();
  const log = join(CACHE, `${family}-${process.pid}.log`);
  writeFileSync(log, "");
  const { LAB_VK: _, LAB_LEAST: __, ...own } = process.env;
  const child = join(root, "scripts", "lib", "isa", script);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", child, ...args(log)], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    env: { ...own, ...env, RADV_FORCE_FAMILY: nameIn(driver, family), NULLCARD_LOG: log },
  });
  rmSync(log);
  if (status !== 0) {
    const why =
      stderr
        .trim()
        .split("\n")
        .findLast((line) => /error/i.test(line)) ?? stderr.trim().split("\n").at(-1);
    throw new LabError("unsupported", `Compiling for ${family} failed: ${why ?? ""}`);
  }
  return stdout;
}

/**
 * Takes a dry step at the shapes of Sa2VA-1B on a family's null card.
 * @param layers blocks per stage of the model
 * @throws LabError("unsupported") where there is no null card
 */
export function dryStep(family: FamilyName, layers: number): DryStep {
  const stdout = onCard(family, "step-child.ts", (log) => [log, join(CACHE, `step-${process.pid}`), String(layers)]);
  return JSON.parse(stdout.trim().split("\n").at(-1) as string) as DryStep;
}

/**
 * Compiles the card programs whose names contain `only` for a family.
 * @throws LabError("unsupported") where there is no null card
 */
export function compileFor(family: FamilyName, { only = "", assembly = false } = {}): Compilation {
  const stdout = onCard(family, "compile-child.ts", (log) => [log, only, assembly ? "assembly" : ""]);
  const [first = "{}", ...lines] = stdout.trim().split("\n");
  const programs = lines.map((text): CompiledProgram => {
    const { statistics, ...line } = JSON.parse(text) as Line;
    const of = (name: string): number => statistics[name] ?? 0;
    const halved = FAMILIES[family].rdna && of("Subgroup size") === 64 ? 2 : 1;
    return {
      ...line,
      registers: of("VGPRs"),
      spills: of("Spilled VGPRs") + of("Spilled SGPRs"),
      scratch: of("Scratch size"),
      local: of("LDS size"),
      waves: Math.floor(of("Subgroups per SIMD") / halved),
    };
  });
  return { family, adapter: (JSON.parse(first) as { adapter: string }).adapter, programs };
}
