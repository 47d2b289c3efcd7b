/**
 * Follows the guides of docs/adding: their code blocks are applied to one copy of the tree, then their tests, the compiler
 * and the linter run there once. A block names its file after the language: ```ts PATH is a new file, ```diff PATH an edit.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";

/** One code block with a path. */
export interface GuideBlock {
  readonly path: string;
  /** `diff`: lines with "+", "-" or " " in front, placed by the lines that are not new. */
  readonly edit: boolean;
  readonly text: string;
}

/** What a guide's example changes and how it is tested. */
export interface Guide {
  readonly blocks: readonly GuideBlock[];
  /** Paths in the table of files and changes. */
  readonly files: readonly string[];
}

const COPIED = ["src", "tests/support", "tests/fixtures", "tests/unit", "workers", "scripts", "tools", "bench"];
const FILES = ["package.json", "vitest.config.ts", "tsconfig.base.json", "tsconfig.app.json", "biome.json"];
const LINKED = ["node_modules", ".cache/tensorflow", "public", "docs"];

/** Reads a guide. @throws Error for a block of an unknown kind */
export function readGuide(markdown: string): Guide {
  const blocks = [...markdown.matchAll(/^```(\w+) (\S+)\n([\s\S]*?)^```$/gm)].map(([, kind, path, text]) => {
    if (kind !== "ts" && kind !== "diff") throw new Error(`${path}: a block must be ts or diff, not ${kind}`);
    return { path: path as string, edit: kind === "diff", text: text as string };
  });
  const table = /^\| file \| change \|\n([\s\S]*?)\n\n/m.exec(markdown)?.[1] ?? "";
  const files = [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, path]) => path as string);
  return { blocks, files };
}

/** A file after an edit. @throws Error when its old lines are not in the file exactly once */
export function editFile(text: string, { path, text: diff }: GuideBlock): string {
  const lines = diff.split("\n").slice(0, -1);
  const side = (sign: string): string =>
    lines
      .filter((line) => line[0] !== sign)
      .map((line) => `${line.slice(1)}\n`)
      .join("");
  const [before, after] = [side("+"), side("-")];
  const count = before === "" ? 0 : text.split(before).length - 1;
  if (count !== 1) throw new Error(`${path}: the old lines of an edit are in the file ${count} times`);
  return text.replace(before, () => after);
}

/** The guide of a name such as "metric". */
export function openGuide(name: string): Guide {
  return readGuide(readFileSync(join(root, "docs/adding", `${name}.md`), "utf8"));
}

/** The files that a guide writes. @throws Error for a new file that exists, or an edit whose old lines are gone */
export function appliedTo(tree: string, { blocks }: Pick<Guide, "blocks">): ReadonlyMap<string, string> {
  const written = new Map<string, string>();
  for (const block of blocks) {
    const path = join(tree, block.path);
    const before = written.get(block.path) ?? (existsSync(path) ? readFileSync(path, "utf8") : null);
    if (!block.edit && before !== null) throw new Error(`${block.path} exists already`);
    if (block.edit && before === null) throw new Error(`${block.path} does not exist`);
    written.set(block.path, block.edit ? editFile(before as string, block) : block.text);
  }
  return written;
}

/**
 * Applies guides to a copy of the tree and runs compiler, linter and tests there.
 * @param change what else is done to the copy, after the guides are applied
 * @param tests files of the tree that run beside those of the guides
 */
export function followGuides(names: readonly string[], change: (copy: string) => void, tests: readonly string[]): void {
  const copy = mkdtempSync(join(tmpdir(), "guide-"));
  try {
    for (const path of COPIED) cpSync(join(root, path), join(copy, path), { recursive: true });
    for (const path of FILES) cpSync(join(root, path), join(copy, path));
    mkdirSync(join(copy, ".cache"));
    for (const path of LINKED) symlinkSync(join(root, path), join(copy, path), "dir");
    const changed = new Set<string>();
    for (const name of names) {
      for (const [path, text] of appliedTo(copy, openGuide(name))) {
        mkdirSync(dirname(join(copy, path)), { recursive: true });
        writeFileSync(join(copy, path), text);
        changed.add(path);
      }
    }
    change(copy);
    const written = [...changed].filter((path) => path.endsWith(".ts") && existsSync(join(copy, path)));
    const config = {
      extends: "./tsconfig.app.json",
      compilerOptions: { types: ["vite/client", "node", "@webgpu/types"] },
      include: ["src/app/main.tsx", "src/app/**/*.d.ts", ...written],
    };
    writeFileSync(join(copy, "tsconfig.guide.json"), JSON.stringify(config));
    // One worker, in which the files share their modules.
    const options = {
      cwd: copy,
      env: { ...process.env, VITEST_MAX_WORKERS: "1" },
      encoding: "utf8",
      stdio: "pipe",
    } as const;
    const run = (program: string, ...given: string[]): void => {
      try {
        execFileSync(join(copy, "node_modules/.bin", program), given, options);
      } catch (thrown) {
        const { stdout, stderr } = thrown as { readonly stdout?: string; readonly stderr?: string };
        throw new Error(`${program} ${given.join(" ")}\n${stdout ?? ""}${stderr ?? String(thrown)}`);
      }
    };
    run("tsc", "-p", "tsconfig.guide.json");
    run("biome", "check", "--vcs-enabled=false", ...written);
    const own = written.filter((path) => path.endsWith(".test.ts"));
    run("vitest", "run", "--project", "unit", "--project", "gpu", ...own, ...tests);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
