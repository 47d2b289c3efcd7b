/**
 * npm run without-plugin -- [--plugin NAME…] [--types] [--keep DIR]
 *
 * For each plug-in, removes its lines from the lists of src/plugins in a copy of the tree and checks the rest: types, lint,
 * and the unit and golden tests that read a changed list, except those that the plug-in's README names as its own.
 * --types runs no tests. --keep makes the copy in DIR and keeps it. Exit 1: a check failed; 2: a bad argument.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { badInput } from "../src/engine/errors.ts";
import { one, parseArguments, runTool } from "./lib/arguments.ts";
import { isOwnTest, listsWithout, ownTests, pluginNames } from "./lib/build/no-plugins.ts";
import { root } from "./lib/ensure.mjs";

const PROJECTS = ["engine", "app", "node"];
const LISTS = "src/plugins";

const git = (cwd: string, ...words: string[]): string =>
  execFileSync("git", words, { cwd, encoding: "utf8", maxBuffer: 2 ** 26 });

/** Copies the files of the tree, as they are now, into a folder with its own index. @returns their paths */
function copyTree(copy: string): readonly string[] {
  const listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0");
  const files = listed.filter((path) => path !== "" && existsSync(join(root, path)));
  for (const path of files) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  git(copy, "init", "--quiet");
  git(copy, "add", "--all");
  return files;
}

/** Runs a program of the packages in the copy. @returns its output when it failed, else null */
function failure(copy: string, program: string, words: readonly string[]): string | null {
  const { status, stdout, stderr } = spawnSync(join(copy, "node_modules", ".bin", program), words, {
    cwd: copy,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return status === 0 ? null : `${stdout}${stderr}`;
}

/** What fails without a plug-in, as one output per check. */
function failures(
  copy: string,
  plugin: string,
  files: readonly string[],
  typesOnly: boolean,
): Readonly<Record<string, string>> {
  const lists = Object.entries(listsWithout(plugin)).map(([name, text]) => ({ path: `${LISTS}/${name}`, text }));
  const paths = lists.map(({ path }) => path);
  const patterns = ownTests(plugin);
  const dropped = files.filter((path) => isOwnTest(path, patterns));
  for (const path of dropped) rmSync(join(copy, path));
  for (const { path, text } of lists) writeFileSync(join(copy, path), text);
  // As an editor does on saving: a list that got shorter may fit one line.
  if (paths.length > 0) failure(copy, "biome", ["format", "--write", ...paths]);
  const types = PROJECTS.map((project): readonly [string, string | null] => {
    const words = ["-p", `tsconfig.${project}.json`, "--incremental", "--tsBuildInfoFile", `.tsbuild/${project}`];
    return [`types of ${project}`, failure(copy, "tsc", words)];
  });
  const related = ["related", "--run", "--project", "unit", "--passWithNoTests", ...paths];
  const tests = typesOnly || paths.length === 0 ? null : failure(copy, "vitest", related);
  const lint = paths.length === 0 ? null : failure(copy, "biome", ["check", ...paths]);
  for (const path of [...dropped, ...paths]) cpSync(join(root, path), join(copy, path));
  return Object.fromEntries(
    [...types, ["lint", lint], ["tests", tests]].filter((check): check is [string, string] => check[1] !== null),
  );
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), {
    plugin: { takes: "many" },
    types: { takes: 0 },
    keep: { takes: 1 },
  });
  const all = pluginNames();
  const chosen = parsed.get("plugin") ?? all;
  const unknown = chosen.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw badInput(`There is no plug-in "${unknown}"; there are ${all.join(", ")}`, "--plugin");
  const kept = one(parsed, "keep");
  const copy = kept === undefined ? mkdtempSync(join(tmpdir(), "without-plugin-")) : resolve(kept);
  let failed = 0;
  try {
    const files = copyTree(copy);
    for (const plugin of chosen) {
      const wrong = failures(copy, plugin, files, parsed.has("types"));
      const names = Object.keys(wrong);
      process.stdout.write(
        `${names.length === 0 ? "ok  " : "FAIL"} ${plugin}${names.map((name) => `, ${name}`).join("")}\n`,
      );
      for (const output of Object.values(wrong)) process.stderr.write(output);
      failed += names.length === 0 ? 0 : 1;
    }
  } finally {
    if (kept === undefined) rmSync(copy, { recursive: true, force: true });
  }
  process.stdout.write(`${chosen.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
});
