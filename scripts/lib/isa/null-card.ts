/**
 * Cards' compilers without a card: builds the null Vulkan driver (bench/tool/nullcard.c) around one of Mesa's in the
 * checkout's `.cache/isa`, and compiles the card programs on it in a separate process. Packages are downloaded and
 * unpacked there with apt-get and dpkg; nothing is installed. AMD's driver is that of this release; those of NVIDIA and
 * Apple come from Debian's newest, with the C library that they need.
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
const NEWEST_PACKAGES = ["mesa-vulkan-drivers", "mesa-drm-shim", "libstdc++6"];

interface Driver {
  readonly library: string;
  /** Stands for the kernel's driver; such drivers come from the newest release. */
  readonly shim?: string;
  /** Variable of the environment that names the card; without one the driver has a single card. */
  readonly card?: string;
  /** Names of statistics. */
  readonly registers: string;
  readonly spills: readonly string[];
  readonly scratch: string;
  /** Waves per SIMD. */
  waves(of: (statistic: string) => number): number;
}

const DRIVERS = {
  radv: {
    library: "libvulkan_radeon.so",
    card: "RADV_FORCE_FAMILY",
    registers: "VGPRs",
    spills: ["Spilled VGPRs", "Spilled SGPRs"],
    scratch: "Scratch size",
    waves: (of) => of("Subgroups per SIMD"),
  },
  // A multiprocessor of NVIDIA and a core of Apple have four SIMDs.
  nvk: {
    library: "libvulkan_nouveau.so",
    shim: "libnouveau_noop_drm_shim.so",
    card: "NOUVEAU_CHIPSET",
    registers: "Number of GPRs",
    spills: ["Spills to memory", "Fills from memory"],
    scratch: "SLM size",
    waves: (of) => of("Max warps/SM") / 4,
  },
  honeykrisp: {
    library: "libvulkan_asahi.so",
    shim: "libasahi_noop_drm_shim.so",
    registers: "GPRs",
    spills: ["Spills", "Fills"],
    scratch: "Scratch",
    waves: (of) => of("Threads") / 32 / 4,
  },
} as const satisfies Readonly<Record<string, Driver>>;

interface Family {
  readonly driver: keyof typeof DRIVERS;
  /** What the driver calls the card, in the newest release first. */
  readonly names: readonly string[];
  readonly title: string;
  /** Lanes of a wave in the driver's count of waves. */
  readonly lanes: 32 | 64;
  /**
   * Waves per SIMD that a program needs, as a share of those that RDNA needs: GCN's waves take four cycles an
   * instruction, and Apple's registers hold three waves of the largest programs.
   */
  readonly waves: number;
}

const rdna = (title: string, ...names: string[]) => ({ driver: "radv", names, title, lanes: 32, waves: 1 }) as const;
const gcn = (title: string, name: string) =>
  ({ driver: "radv", names: [name], title, lanes: 64, waves: 1 / 2 }) as const;

/** Cards whose instructions the tool compiles for. */
export const FAMILIES = {
  navi31: rdna("Radeon RX 7900 (RDNA 3)", "navi31", "gfx1100"),
  phoenix: rdna("Radeon 780M (RDNA 3)", "phoenix", "gfx1103"),
  navi23: rdna("Radeon RX 6600 (RDNA 2)", "navi23", "gfx1032"),
  navi10: rdna("Radeon RX 5700 (RDNA)", "navi10", "gfx1010"),
  vega10: gcn("Radeon RX Vega (GCN 5)", "vega10"),
  polaris10: gcn("Radeon RX 480 (GCN 4)", "polaris10"),
  ga102: { driver: "nvk", names: ["0x172"], title: "GeForce RTX 3090 (Ampere)", lanes: 32, waves: 1 },
  m1: { driver: "honeykrisp", names: [], title: "Apple M1", lanes: 32, waves: 3 / 4 },
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
  /** Bytes of workgroup memory, where the driver counts them. */
  readonly local: number | null;
  readonly waves: number;
  /** Of the loop that does the work (assembly.ts); null without a loop that multiplies, or without assembly. */
  readonly work: Counts | null;
  readonly assembly?: string;
}

function run(command: string, args: readonly string[], cwd: string, env = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  if (status === 0) return stdout;
  const why = (error?.message ?? stderr.trim().split("\n").at(-1) ?? "").slice(0, 160);
  throw new LabError(
    "unsupported",
    `The null card needs ${command}, which failed (${why}); it runs on Debian and Ubuntu`,
  );
}

/**
 * Downloads and unpacks packages once; a folder that was interrupted is made again.
 * @param fetch downloads them into a folder
 */
function unpacked(name: string, fetch: (folder: string) => void): string {
  const folder = join(CACHE, name);
  if (existsSync(folder)) return folder;
  const [packages, partial] = [join(CACHE, `${name}-packages`), join(CACHE, `${name}-partial`)];
  for (const path of [packages, partial]) rmSync(path, { recursive: true, force: true });
  mkdirSync(packages, { recursive: true });
  fetch(packages);
  for (const file of readdirSync(packages)) {
    if (file.endsWith(".deb")) run("dpkg", ["-x", file, partial], packages);
  }
  renameSync(partial, folder);
  return folder;
}

const ownPackages = (): string =>
  unpacked("root", (folder) => {
    run("apt-get", ["download", ...PACKAGES], folder);
  });

/** Drivers of Debian's newest release with all that they need, through an own configuration of apt. */
function newestPackages(): string {
  return unpacked("newest", (folder) => {
    const format = ["indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages"];
    const address = /^Debian (\S+\/debian\/)$/m.exec(run("apt-get", format, folder))?.[1];
    if (address === undefined) throw new LabError("unsupported", "Only Debian's newest release has this card's driver");
    const [sources, config] = [join(folder, "sources.list"), join(folder, "apt.conf")];
    const lists = join(folder, "lists");
    for (const part of [lists, folder]) mkdirSync(join(part, "partial"), { recursive: true });
    writeFileSync(sources, `deb ${address} sid main\n`);
    writeFileSync(join(folder, "status"), "");
    const settings = {
      "Dir::Etc::sourcelist": sources,
      "Dir::Etc::sourceparts": "-",
      "Dir::State::lists": lists,
      "Dir::State::status": join(folder, "status"),
      "Dir::Cache::archives": folder,
      "Dir::Cache::pkgcache": "",
      "Dir::Cache::srcpkgcache": "",
      "APT::Sandbox::User": "root",
      "Debug::NoLocking": "1",
    };
    writeFileSync(
      config,
      Object.entries(settings)
        .map(([key, value]) => `${key} "${value}";\n`)
        .join(""),
    );
    const env = { APT_CONFIG: config };
    run("apt-get", ["update"], folder, env);
    const args = ["--yes", "--no-install-recommends", "--download-only", "install"];
    run("apt-get", [...args, ...NEWEST_PACKAGES], folder, env);
  });
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
  /** Environment of a process that uses the card. */
  readonly env: Readonly<Record<string, string>>;
  /** Command and arguments that start Node on the card. */
  readonly command: readonly [string, ...string[]];
}

/**
 * Builds the driver of a family's card, or returns the one built before.
 * @throws LabError("unsupported") without gcc, apt-get, dpkg, the packages or their libraries
 */
export function nullCard(family: FamilyName): NullCard {
  const { names, driver: maker }: Family = FAMILIES[family];
  const { library, shim, card }: Driver = DRIVERS[maker];
  mkdirSync(CACHE, { recursive: true });
  const headers = join(ownPackages(), "usr", "include");
  const libraries = folderOf(shim === undefined ? ownPackages() : newestPackages(), library);
  const driver = join(libraries, library);
  const wrapper = join(CACHE, "libnullcard.so");
  const source = join(root, "bench", "tool", "nullcard.c");
  run("gcc", ["-O1", "-shared", "-fPIC", "-I", headers, "-o", wrapper, source, "-ldl"], CACHE);
  const manifest = join(CACHE, "nullcard.json");
  const icd = { ICD: { api_version: "1.3.0", library_path: wrapper }, file_format_version: "1.0.0" };
  writeFileSync(manifest, JSON.stringify(icd));
  const text = readFileSync(driver, "latin1").toLowerCase();
  const name = shim === undefined ? names.find((name) => text.includes(`\0${name}\0`)) : (names[0] ?? "");
  if (name === undefined) throw badInput(`The Mesa of this distribution does not know the card ${family}`, family);
  const env = {
    VK_ICD_FILENAMES: manifest,
    NULLCARD_DRIVER: driver,
    MESA_SHADER_CACHE_DISABLE: "true",
    ...(card === undefined ? {} : { [card]: name }),
  };
  if (shim !== undefined) {
    // The newest C library runs the whole process; a child that it starts does not have it.
    const loader = join(libraries, "ld-linux-x86-64.so.2");
    return {
      env,
      command: [loader, "--preload", join(libraries, shim), "--library-path", libraries, process.execPath],
    };
  }
  const own = { ...env, LD_LIBRARY_PATH: libraries };
  const { stdout } = spawnSync("ldd", [driver], { encoding: "utf8", env: { ...process.env, ...own } });
  const missing = /(\S+) => not found/.exec(stdout)?.[1];
  if (missing !== undefined)
    throw new LabError("unsupported", `The null card needs ${missing}; install mesa-vulkan-drivers`);
  return { env: own, command: [process.execPath] };
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
  const {
    env,
    command: [command, ...before],
  } = nullCard(family);
  const log = join(CACHE, `${family}-${process.pid}.log`);
  writeFileSync(log, "");
  const { LAB_VK: _, LAB_LEAST: __, LD_LIBRARY_PATH: ___, ...own } = process.env;
  const child = join(root, "scripts", "lib", "isa", script);
  const { status, stdout, stderr } = spawnSync(command, [...before, "--import", "tsx", child, ...args(log)], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 30,
    env: { ...own, ...env, NULLCARD_LOG: log },
  });
  rmSync(log);
  if (status !== 0) {
    const why =
      stderr
        .trim()
        .split("\n")
        .findLast((line) => /error/i.test(line)) ?? stderr.trim().split("\n").at(-1);
    throw new LabError("unsupported", `${script} failed on ${family}: ${why ?? ""}`);
  }
  return stdout;
}

/**
 * Takes a dry step at the shapes of a model on a family's null card.
 * @param model Sa2VA-1B, or a release on Qwen-VL @param layers blocks per stage of the model, at most
 * @throws LabError("unsupported") where there is no null card, or with the first error of the step
 */
export function dryStep(family: FamilyName, model: string, layers: number): DryStep {
  const folder = join(CACHE, `step-${process.pid}`);
  const stdout = onCard(family, "step-child.ts", (log) => [log, folder, model, String(layers)]);
  return JSON.parse(stdout.trim().split("\n").at(-1) as string) as DryStep;
}

/**
 * Compiles the card programs whose names contain `only` for a family.
 * @throws LabError("unsupported") where there is no null card
 */
export function compileFor(family: FamilyName, { only = "", assembly = false } = {}): Compilation {
  const stdout = onCard(family, "compile-child.ts", (log) => [log, only, assembly ? "assembly" : ""]);
  const [first = "{}", ...lines] = stdout.trim().split("\n");
  const { lanes, driver: maker }: Family = FAMILIES[family];
  const driver: Driver = DRIVERS[maker];
  const programs = lines.map((text): CompiledProgram => {
    const { statistics, ...line } = JSON.parse(text) as Line;
    const of = (name: string): number => statistics[name] ?? 0;
    return {
      ...line,
      registers: of(driver.registers),
      spills: driver.spills.reduce((sum, name) => sum + of(name), 0),
      scratch: of(driver.scratch),
      local: statistics["LDS size"] ?? null,
      waves: Math.floor((driver.waves(of) * lanes) / of("Subgroup size")),
    };
  });
  return { family, adapter: (JSON.parse(first) as { adapter: string }).adapter, programs };
}
