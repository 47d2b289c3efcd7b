/**
 * npm run without-plugin -- [--plugin NAME…] [--alone] [--types | --main PROJECT…] [--keep DIR]
 *
 * For each plug-in, removes its lines from the lists of src/plugins in a copy of the tree and checks the rest: types, lint,
 * and the unit and golden tests that read a changed list, except those that the plug-in's README names as its own.
 * --alone removes the lines of all plug-ins at once and runs types, lint and all unit and golden tests of the core; then the
 * own unit tests of each plug-in without the lines of any other. --types runs no tests. --main runs instead those tests of `npm test`
 * that need a device (gpu) or a browser (browser), but for the own tests of what is removed; the copy builds its own page and tools.
 * --keep makes the copy in DIR and keeps it.
 * Exit 1: a check failed; 2: a bad argument.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { badInput } from "../src/engine/errors.ts";
import { one, parseArguments, refuseIdle, runTool } from "./lib/arguments.ts";
import { isOwnTest, listsWithout, ownTests, pluginNames } from "./lib/build/no-plugins.ts";
import { root } from "./lib/ensure.mjs";

const PROJECTS = ["engine", "app", "node"];
const LISTS = "src/plugins";
const UNIT = ["run", "--project", "unit"];
/** Folders of the tests of a project that --main runs. */
const MAIN: Readonly<Record<string, RegExp>> = { gpu: /^tests\/(?:gpu|kill)\//, browser: /^tests\/browser\// };

const git = (cwd: string, ...words: string[]): string =>
  execFileSync("git", words, { cwd, encoding: "utf8", maxBuffer: 2 ** 26 });

type Failures = Readonly<Record<string, string | null>>;

/** A copy of the tree with its own index, in which lines of plug-ins are removed and put back. */
class Copy {
  readonly folder: string;
  /** Paths of its files. */
  readonly files: readonly string[];

  constructor(folder: string) {
    this.folder = folder;
    const listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0");
    this.files = listed.filter((path) => path !== "" && existsSync(join(root, path)));
    for (const path of this.files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      cpSync(join(root, path), join(folder, path));
    }
    symlinkSync(join(root, ".cache"), join(folder, ".cache"));
    // Its own folder of packages: tests put what they build there.
    mkdirSync(join(folder, "node_modules"));
    for (const name of [".bin", ...readdirSync(join(root, "node_modules")).filter((name) => !name.startsWith("."))])
      symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
    git(folder, "init", "--quiet");
    git(folder, "add", "--all");
  }

  /** Runs checks without these plug-ins and the tests that they own. @param checks gets the paths of the changed lists */
  without(plugins: readonly string[], checks: (changed: readonly string[]) => Failures): Failures {
    const lists = Object.entries(listsWithout(plugins)).map(([name, text]) => ({ path: `${LISTS}/${name}`, text }));
    const changed = lists.map(({ path }) => path);
    const patterns = plugins.flatMap(ownTests);
    const dropped = this.files.filter((path) => isOwnTest(path, patterns));
    for (const path of dropped) rmSync(join(this.folder, path));
    for (const { path, text } of lists) writeFileSync(join(this.folder, path), text);
    // As an editor does on saving: a list that got shorter may fit one line.
    if (changed.length > 0) this.failure("biome", ["format", "--write", ...changed]);
    const found = checks(changed);
    git(this.folder, "checkout", "--quiet", ".");
    return found;
  }

  types(): Failures {
    return Object.fromEntries(
      PROJECTS.map((project) => {
        const words = ["-p", `tsconfig.${project}.json`, "--incremental", "--tsBuildInfoFile", `.tsbuild/${project}`];
        return [`types of ${project}`, this.failure("tsc", words)];
      }),
    );
  }

  lint(changed: readonly string[]): string | null {
    return changed.length === 0 ? null : this.failure("biome", ["check", ...changed]);
  }

  /** The tests of `npm test` of these projects that are there. */
  mainJob(projects: readonly string[]): Failures {
    const listed = JSON.parse(readFileSync(join(root, "tests", "main-job.json"), "utf8")) as readonly string[];
    return Object.fromEntries(
      projects.map((project) => {
        const tests = listed.filter((path) => MAIN[project]?.test(path) && existsSync(join(this.folder, path)));
        return [`${project} tests`, this.failure("vitest", ["run", "--project", project, ...tests])];
      }),
    );
  }

  /** Runs a program of the packages. @returns its output when it failed, else null */
  failure(program: string, words: readonly string[]): string | null {
    const { status, stdout, stderr } = spawnSync(join(this.folder, "node_modules", ".bin", program), words, {
      cwd: this.folder,
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    return status === 0 ? null : `${stdout}${stderr}`;
  }
}

/** Types, lint and the tests that read a changed list, without one plug-in. */
function withoutOne(copy: Copy, plugin: string, typesOnly: boolean): Failures {
  return copy.without([plugin], (changed) => {
    const related = ["related", "--run", "--project", "unit", "--passWithNoTests", ...changed];
    return {
      ...copy.types(),
      lint: copy.lint(changed),
      tests: typesOnly || changed.length === 0 ? null : copy.failure("vitest", related),
    };
  });
}

/** Unit tests by the plug-ins that own them. */
function testsByOwners(files: readonly string[], names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const own = new Map(names.map((name) => [name, ownTests(name)]));
  const found = new Map<string, string[]>();
  for (const path of files.filter((file) => /^tests\/(unit|golden|fuzz|policy)\/.*\.test\.tsx?$/.test(file))) {
    const owners = names.filter((name) => isOwnTest(path, own.get(name) ?? [])).join(" ");
    if (owners !== "") found.set(owners, [...(found.get(owners) ?? []), path]);
  }
  return found;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), {
    plugin: { takes: "many" },
    alone: { takes: 0 },
    types: { takes: 0 },
    main: { takes: "many" },
    keep: { takes: 1 },
  });
  const all = pluginNames();
  const chosen = parsed.get("plugin") ?? all;
  const unknown = chosen.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw badInput(`There is no plug-in "${unknown}"; there are ${all.join(", ")}`, "--plugin");
  const typesOnly = parsed.has("types");
  const main = parsed.get("main") ?? [];
  const strange = main.find((project) => MAIN[project] === undefined);
  if (strange !== undefined)
    throw badInput(`--main takes ${Object.keys(MAIN).join(" and ")}, not "${strange}"`, "--main");
  if (typesOnly) refuseIdle(parsed, ["main"], "with --types");
  const kept = one(parsed, "keep");
  const folder = kept === undefined ? mkdtempSync(join(tmpdir(), "without-plugin-")) : resolve(kept);
  let [passed, failed] = [0, 0];
  const report = (title: string, found: Failures): void => {
    const wrong = Object.entries(found).filter(([, output]) => output !== null);
    process.stdout.write(
      `${wrong.length === 0 ? "ok  " : "FAIL"} ${title}${wrong.map(([name]) => `, ${name}`).join("")}\n`,
    );
    for (const [, output] of wrong) process.stderr.write(output ?? "");
    wrong.length === 0 ? passed++ : failed++;
  };
  try {
    const copy = new Copy(folder);
    if (main.length > 0) {
      const job = (): Failures => copy.mainJob(main);
      if (parsed.has("alone")) report("the core alone", copy.without(all, job));
      else for (const plugin of chosen) report(`without ${plugin}`, copy.without([plugin], job));
    } else if (parsed.has("alone")) {
      const core = (changed: readonly string[]): Failures => ({
        ...copy.types(),
        lint: copy.lint(changed),
        // Policy tests compare the lists with the folders.
        tests: typesOnly ? null : copy.failure("vitest", [...UNIT, "tests/unit", "tests/golden"]),
      });
      if (!parsed.has("plugin")) report("the core alone", copy.without(all, core));
      for (const [owners, tests] of typesOnly ? [] : testsByOwners(copy.files, all)) {
        if (!owners.split(" ").some((name) => chosen.includes(name))) continue;
        const others = all.filter((name) => !owners.split(" ").includes(name));
        report(
          `${owners} alone`,
          copy.without(others, () => ({ tests: copy.failure("vitest", [...UNIT, ...tests]) })),
        );
      }
    } else {
      for (const plugin of chosen) report(`without ${plugin}`, withoutOne(copy, plugin, typesOnly));
    }
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
});
