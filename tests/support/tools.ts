/** The command-line tools as processes of their own. */
import { execFile } from "node:child_process";
import { join } from "node:path";
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

/**
 * `scripts/<name>.ts` with these words.
 * @param env added to the environment
 */
export function tool(
  name: "parity" | "train" | "lab" | "export" | "score" | "sweep" | "damage-pocket" | "eval",
  words: readonly string[],
  env?: Readonly<Record<string, string>>,
): Promise<Done> {
  return run(process.execPath, ["--import", "tsx", join(root, "scripts", `${name}.ts`), ...words], env);
}

/** A Python program; PYTHON names the interpreter. */
export function python(...words: readonly string[]): Promise<Done> {
  return run(process.env.PYTHON || "python3", words);
}
