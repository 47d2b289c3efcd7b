/** The command-line tools as processes of their own. */
import { execFile } from "node:child_process";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "../../scripts/lib/ensure.mjs";

export interface Done {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Most that a tool may print. */
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

/** Tools that tests start. */
export type ToolName = "train" | "lab" | "export" | "score" | "sweep" | "damage-pocket" | "eval" | "check-data";

const bundles = new Map<ToolName, Promise<string>>();

/**
 * `scripts/<name>.ts` as one module, made once per process: Node starts it four times as fast as hundreds of sources.
 * Whatever asks for its own place gets that of its source.
 * @returns the module's path
 */
export function bundledTool(name: ToolName): Promise<string> {
  const made = bundles.get(name) ?? bundle(name);
  bundles.set(name, made);
  return made;
}

async function bundle(name: ToolName): Promise<string> {
  const places = {
    name: "places",
    transform: (code: string, id: string) =>
      code.includes("import.meta.url")
        ? code.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(id).href))
        : null,
  };
  const { build } = await import("vite");
  // Below node_modules, where its packages are found; processes that make it at once put the same file there.
  const outDir = join(root, "node_modules", ".lab-tools", `${name}-${process.pid}`);
  await build({
    configFile: false,
    root,
    logLevel: "error",
    plugins: [places],
    build: {
      ssr: join(root, "scripts", `${name}.ts`),
      outDir,
      copyPublicDir: false,
      target: "node20",
      rolldownOptions: { output: { codeSplitting: false, entryFileNames: "[name].mjs" } },
    },
  });
  const made = join(outDir, "..", `${name}.mjs`);
  renameSync(join(outDir, `${name}.mjs`), made);
  rmSync(outDir, { recursive: true });
  return made;
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
