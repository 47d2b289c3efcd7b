/** The command-line tools as processes of their own. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { NO_PLUGINS } from "../../scripts/lib/build/no-plugins.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { lockRun } from "../../scripts/lib/node/run-lock.ts";
import { LabError } from "../../src/engine/errors.ts";

export interface Done {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Maximum size of a tool's output. */
const MOST_OUTPUT = 2 ** 26;

function run(program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Done> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...words],
      { cwd: root, maxBuffer: MOST_OUTPUT, env: { ...process.env, ...env } },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

const TOOLS = [
  "train",
  "lab",
  "masklets",
  "export",
  "score",
  "sweep",
  "damage-pocket",
  "vague-pocket",
  "build-pocket-shards",
  "eval",
  "check-data",
  "compare",
  "tune",
] as const;

/** Tools that tests start. */
export type ToolName = (typeof TOOLS)[number];

/** Below node_modules, where packages that are not bundled are found. */
const HOME = join(root, "node_modules", ".lab-tools");

/** Sources of the tools, and what says how they are bundled. */
const SOURCES = ["src", "scripts", "tools", "tests/support/tools.ts", "package-lock.json"];

/** Packages that stay as they are: native, or larger than what a tool needs of them. */
const KEPT = ["webgpu", "vite", "playwright-core", "mediabunny"];

/** Identifies the sources by their times and sizes. */
function sourcesKey(): string {
  const hash = createHash("sha256");
  for (const source of SOURCES) {
    const path = join(root, source);
    const inside = statSync(path).isDirectory()
      ? readdirSync(path, { recursive: true, encoding: "utf8" }).sort()
      : [""];
    for (const name of inside) {
      const { size, mtimeMs } = statSync(join(path, name));
      hash.update(`${source}/${name} ${size} ${mtimeMs}\n`);
    }
  }
  return hash.digest("hex").slice(0, 16);
}

const bundles = new Map<boolean, Promise<string>>();

/** The folder of all tools as modules: built once per state of the sources, however many processes need it. */
async function bundled(core: boolean): Promise<string> {
  const key = `${sourcesKey()}${core ? "-core" : ""}`;
  const made = join(HOME, key);
  while (!existsSync(made)) {
    let release: () => void;
    try {
      release = lockRun(join(HOME, "making"), key, new Date().toISOString());
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      // Another process makes them.
      await new Promise((resolve) => setTimeout(resolve, 100));
      continue;
    }
    try {
      if (!existsSync(made)) await bundle(made, core);
    } finally {
      release();
    }
  }
  return made;
}

/** Code that asks for its own location gets that of its source. */
async function bundle(made: string, core: boolean): Promise<void> {
  const places = {
    name: "places",
    transform: (code: string, id: string) =>
      code.includes("import.meta.url")
        ? code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
        : null,
  };
  const outDir = join(HOME, `${process.pid}`);
  const { build } = await import("vite");
  await build({
    configFile: false,
    root,
    logLevel: "error",
    plugins: core ? [NO_PLUGINS, places] : [places],
    ssr: { noExternal: true, external: KEPT },
    build: {
      ssr: true,
      outDir,
      copyPublicDir: false,
      target: "node20",
      rolldownOptions: {
        input: Object.fromEntries(
          TOOLS.map((name) => [name, join(root, "scripts", `${name}.ts`)]).filter(([, path]) =>
            existsSync(path as string),
          ),
        ),
        output: { entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" },
      },
    },
  });
  // Modules of older sources are no longer used.
  for (const name of readdirSync(HOME)) {
    if (/^[0-9a-f]{16}(-core)?$/.test(name) && !name.startsWith(sourcesKey()))
      rmSync(join(HOME, name), { recursive: true });
  }
  renameSync(outDir, made);
}

/**
 * `scripts/<name>.ts` with the packages it needs as a module: Node starts it ten times as fast as hundreds of sources.
 * @param core without any plug-in
 * @returns the module's path
 */
export async function bundledTool(name: ToolName, core = false): Promise<string> {
  const made = bundles.get(core) ?? bundled(core);
  bundles.set(core, made);
  return join(await made, `${name}.mjs`);
}

/** `tool`, built without any plug-in. */
export async function coreTool(name: ToolName, words: readonly string[]): Promise<Done> {
  return run(process.execPath, [await bundledTool(name, true), ...words]);
}

/**
 * `scripts/<name>.ts` with these words.
 * @param env added to the environment
 */
export async function tool(
  name: ToolName,
  words: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<Done> {
  return run(process.execPath, [await bundledTool(name), ...words], env);
}

/** `npm run parity` with these words; it finds its kinds of sets by their files, so it runs from its sources. */
export function parity(...words: readonly string[]): Promise<Done> {
  return run(process.execPath, ["--import", "tsx", join(root, "scripts", "parity.ts"), ...words]);
}

/** A Python program; PYTHON names the interpreter. */
export function python(...words: readonly string[]): Promise<Done> {
  return run(process.env.PYTHON || "python3", words);
}

/**
 * A launch file of a run exported for many GPUs, with the interpreter of `python`.
 * @param env MODEL, SHARDS and GPUS, the processes per machine
 */
export function launched(
  folder: string,
  file: string,
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Done> {
  const path = [dirname(process.env.PYTHON || "python3"), process.env.PATH].join(delimiter);
  return run("sh", [join(folder, "scale", "launch", file), ...words], { PATH: path, ...env });
}
