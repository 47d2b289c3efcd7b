/**
 * Runs a guide of docs/adding: its code blocks are applied to a copy of the tree, then its test, the compiler and the
 * linter run there. A block names its file after the language: ```ts PATH is a new file, ```diff PATH an edit.
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
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
const FILES = ["package.json", "vitest.config.ts", "tsconfig.base.json", "tsconfig.node.json", "biome.json"];
const LINKED = ["node_modules", "public", "docs"];

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

/**
 * Applies a guide to a copy of the tree and runs its test there.
 * @param name of the guide, such as "metric"
 */
export function followGuide(name: string): void {
  const { blocks, files } = readGuide(readFileSync(join(root, "docs/adding", `${name}.md`), "utf8"));
  const changed = [...new Set(blocks.map(({ path }) => path))];
  expect(changed.length).toBeGreaterThanOrEqual(3);
  expect(files.length).toBeLessThanOrEqual(5);
  expect(changed.filter((path) => !files.includes(path))).toEqual([]);
  expect(files.filter((path) => !changed.includes(path) && !/^docs\/\w+\.md$/.test(path))).toEqual([]);

  const copy = mkdtempSync(join(tmpdir(), "guide-"));
  try {
    for (const path of COPIED) cpSync(join(root, path), join(copy, path), { recursive: true });
    for (const path of FILES) cpSync(join(root, path), join(copy, path));
    for (const path of LINKED) symlinkSync(join(root, path), join(copy, path), "dir");
    for (const block of blocks) {
      const path = join(copy, block.path);
      if (!block.edit && existsSync(path)) throw new Error(`${block.path} exists already`);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, block.edit ? editFile(readFileSync(path, "utf8"), block) : block.text);
    }
    const config = { extends: "./tsconfig.node.json", include: changed.filter((path) => path.endsWith(".ts")) };
    writeFileSync(join(copy, "tsconfig.guide.json"), JSON.stringify(config));
    const run = (program: string, ...given: string[]): void => {
      try {
        execFileSync(join(copy, "node_modules/.bin", program), given, { cwd: copy, encoding: "utf8", stdio: "pipe" });
      } catch (thrown) {
        const { stdout, stderr } = thrown as { readonly stdout?: string; readonly stderr?: string };
        throw new Error(`${program} ${given.join(" ")}\n${stdout ?? ""}${stderr ?? String(thrown)}`);
      }
    };
    run("tsc", "-p", "tsconfig.guide.json");
    run("biome", "check", "--vcs-enabled=false", ...config.include);
    for (const path of changed.filter((file) => file.endsWith(".test.ts"))) {
      run("vitest", "run", "--project", path.startsWith("tests/gpu/") ? "gpu" : "unit", path);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
