/** A plug-in is its folder, its lines in the lists and its own tests: without its lines the rest stands. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "vite";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import {
  EMPTY_LISTS,
  isOwnTest,
  listsWithout,
  ownTests,
  pluginNames,
  withLists,
  withoutPlugin,
} from "../../scripts/lib/build/no-plugins.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { importsOf, isTypeScript, trackedFiles } from "../support/sources.ts";

/** Lists of what the tables of the core do not show: calls of workers and panels of the page. */
const BESIDE_TABLES = ["data-calls.ts", "reward-calls.ts", "trainer-calls.ts", "panels.ts"];

const names = pluginNames();
const tests = trackedFiles((path) => /^tests\/.*\.test\.tsx?$/.test(path));

let folder: string;
beforeAll(() => {
  // Every build registers the same kernels, and the library says so.
  vi.spyOn(console, "warn").mockImplementation(() => {});
  // Below the packages, which the tables import.
  folder = mkdtempSync(join(root, "node_modules", ".without-plugin-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  vi.restoreAllMocks();
});

/** The rows of the core's tables with these lists in place of others. */
async function tables(name: string, lists: Readonly<Record<string, string>>): Promise<ReadonlySet<string>> {
  const outDir = join(folder, name);
  await build({
    configFile: false,
    root,
    logLevel: "error",
    plugins: [withLists(lists)],
    build: {
      ssr: join(root, "tests", "support", "core-tables.ts"),
      outDir,
      copyPublicDir: false,
      minify: false,
      rolldownOptions: { output: { entryFileNames: "tables.mjs" } },
    },
  });
  const { coreTables } = (await import(pathToFileURL(join(outDir, "tables.mjs")).href)) as {
    coreTables(): readonly string[];
  };
  return new Set(coreTables());
}

it("the lines of a plug-in are found in a list", () => {
  const list = 'import { a } from "./one/a.ts";\nimport { b } from "./two/b.ts";\n\nexport const ALL = [a, ...b];\n';
  expect(withoutPlugin(list, "one")).toBe('import { b } from "./two/b.ts";\n\nexport const ALL = [...b];\n');
  expect(withoutPlugin(list, "three")).toBe(list);
  const wrong = names.flatMap((name) =>
    Object.entries(listsWithout([name])).flatMap(([path, text]) =>
      text.includes(`./${name}/`) ? [`${name} in ${path}`] : [],
    ),
  );
  expect(wrong).toEqual([]);
  expect(names.filter((name) => Object.keys(listsWithout([name])).length === 0)).toEqual(["sweep"]);
});

it("the tables resolve without any plug-in and without each, and every row belongs to the core or to one", async () => {
  const [all, core] = [await tables("all", {}), await tables("core", EMPTY_LISTS)];
  expect([...core].filter((row) => !all.has(row))).toEqual([]);
  const owners = new Map<string, string[]>();
  for (const name of names) {
    const lists = listsWithout([name]);
    if (Object.keys(lists).every((list) => BESIDE_TABLES.includes(list))) continue;
    const rest = await tables(name, lists);
    expect(
      [...rest].filter((row) => !all.has(row)),
      name,
    ).toEqual([]);
    const gone = [...all].filter((row) => !rest.has(row));
    expect(gone, name).not.toEqual([]);
    for (const row of gone) owners.set(row, [...(owners.get(row) ?? []), name]);
  }
  expect([...owners.keys()].filter((row) => core.has(row))).toEqual([]);
  expect([...all].filter((row) => !core.has(row) && !owners.has(row))).toEqual([]);
  // The weight of one plug-in's term in another one's loop goes with either.
  const shared = [...owners].filter(([row, by]) => by.length > 1 && !/^setting: loop\d/.test(row));
  expect(shared).toEqual([]);
});

it("a README names the plug-in's own tests, and they exist", () => {
  const missing = names.flatMap((name) =>
    ownTests(name)
      .filter((path) => !existsSync(join(root, path)))
      .map((path) => `${name}: ${path}`),
  );
  expect(missing).toEqual([]);
  expect(names.filter((name) => ownTests(name).length === 0)).toEqual([]);
});

it("a test that imports a plug-in is one of its own, or of another plug-in that imports it", () => {
  const sources = trackedFiles((path) => path.startsWith("src/plugins/") && isTypeScript(path));
  const pluginOf = (path: string): string | undefined => /^src\/plugins\/([\w-]+)\//.exec(path)?.[1];
  const needs = (name: string): readonly string[] =>
    sources
      .filter(({ path }) => pluginOf(path) === name)
      .flatMap((file) => importsOf(file).map(pluginOf))
      .filter((other) => other !== undefined);
  const wrong = tests.flatMap((file) => {
    const imported = [...new Set(importsOf(file).map(pluginOf))].filter((name) => name !== undefined);
    const owners = names.filter((name) => isOwnTest(file.path, ownTests(name)));
    const allowed = new Set([...owners, ...owners.flatMap(needs)]);
    return imported.filter((name) => !allowed.has(name)).map((name) => `${name}: ${file.path}`);
  });
  expect(wrong).toEqual([]);
});
