/**
 * Imports go down only: app → protocol → engine, and inside the engine from room to room as listed here; the page takes the
 * types of calls from the workers that serve them. The core imports no plug-in, only the lists of them, and a plug-in imports
 * no other.
 */
import { describe, expect, it } from "vitest";
import { importsOf, isTypeScript, type SourceFile, trackedFiles } from "../support/sources.ts";

/** What each room of the engine may import, beside src/engine/errors.ts. Everything else is forbidden. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  bytes: [],
  // The part of the loops that every room may import; their code is in rl.
  loops: [],
  // Reward terms, from which the settings of their weights are derived; the code that scores with them is in rewards.
  terms: ["bytes", "loops", "data"],
  config: ["bytes", "loops", "terms"],
  text: ["bytes"],
  data: ["bytes"],
  gpu: ["bytes"],
  storage: ["bytes"],
  tuning: ["bytes", "gpu", "storage"],
  formats: ["bytes"],
  rewards: ["bytes", "loops", "terms", "config", "data"],
  model: ["bytes", "text", "data", "gpu", "formats"],
  plan: ["config", "gpu", "model"],
  policy: ["bytes", "config", "text", "data", "gpu", "model"],
  runs: ["bytes", "loops", "terms", "config", "data", "rewards", "storage", "formats"],
  loading: ["bytes", "config", "text", "gpu", "model", "storage"],
  eval: ["bytes", "loops", "terms", "config", "text", "data", "gpu", "model", "policy", "rewards", "runs", "storage"],
  rl: [
    "bytes",
    "loops",
    "terms",
    "config",
    "text",
    "data",
    "gpu",
    "model",
    "policy",
    "rewards",
    "runs",
    "eval",
    "loading",
    "storage",
    "formats",
    "tuning",
  ],
  session: [
    "eval",
    "bytes",
    "loops",
    "terms",
    "config",
    "data",
    "gpu",
    "model",
    "policy",
    "rewards",
    "runs",
    "plan",
    "loading",
    "storage",
    "rl",
    "tuning",
  ],
  export: ["bytes", "loops", "config", "text", "data", "gpu", "model", "policy", "rewards", "runs", "formats", "plan"],
};

/** What each room of the page may import from the page. */
const PAGE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  styles: [],
  stores: ["styles"],
  clients: ["stores"],
  components: ["stores", "clients", "styles"],
  screens: ["components", "clients", "stores", "styles"],
  frame: ["screens", "components", "clients", "stores", "styles"],
};

/** The lists of plug-ins, and which part of the core may read each. */
const LISTS: Readonly<Record<string, RegExp>> = {
  "src/plugins/plugin.ts": /^src\//,
  "src/plugins/list.ts": /^src\//,
  "src/plugins/mask-policies.ts": /^src\/engine\/policy\//,
  "src/plugins/terms.ts": /^src\/engine\/rewards\//,
  "src/plugins/loops.ts": /^src\/engine\/rl\//,
  "src/plugins/family-configs.ts": /^src\/engine\/model\//,
  "src/plugins/families.ts": /^src\/engine\/model\//,
  "src/plugins/folders.ts": /^workers\//,
  "src/plugins/modes.ts": /^src\/engine\/rl\//,
  "src/plugins/codecs.ts": /^src\/engine\/data\//,
  "src/plugins/tokenizers.ts": /^src\/engine\/text\//,
  "src/plugins/setting-names.ts": /^src\/engine\/config\//,
  "src/plugins/exports.ts": /^src\/engine\/export\//,
  "src/plugins/records.ts": /^src\/engine\/data\//,
  "src/plugins/readers.ts": /^src\/engine\/data\//,
  "src/plugins/panels.ts": /^src\/app\//,
  "src/plugins/data-calls.ts": /^workers\//,
  "src/plugins/reward-calls.ts": /^workers\//,
  "src/plugins/trainer-calls.ts": /^workers\//,
};

/** Plug-ins that a plug-in imports. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  card: ["diagnostics", "tuner"],
  clips: ["try-out"],
  "custom-reward": ["reward-bench"],
  "judge-workshop": ["rollout-tools"],
  handover: ["trl"],
  phases: ["rollout-tools"],
  leaderboard: ["suites"],
  "run-address": ["hub"],
  sweep: ["exchange"],
  "reward-bench": ["rollout-tools"],
  "run-details": ["rollout-tools"],
  "data-tools": ["whole-run"],
  "data-sets": ["archives", "clips"],
  suites: ["archives", "clips", "data-sets", "exchange", "try-out"],
};

/** Packages by the part that may use them; a part that is absent may use none. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  app: /^(react|react-dom|zustand|radix-ui|uplot|mediabunny|@tanstack\/react-virtual)(\/|$)/,
  panels: /^(react|radix-ui|recharts|zustand|@tanstack\/react-virtual)$/,
  plugins: /^(fast-png|fflate|mediabunny|yaml|zod\/mini|zustand)$/,
  bytes: /^zod\/mini$/,
  data: /^(apache-arrow|fast-png|fflate|hyparquet|mediabunny)(\/|$)/,
  export: /^fflate$/,
  gpu: /^(#tensorflow(\/webgpu)?|@tensorflow\/tfjs-core(\/dist\/.*)?)$/,
  rewards: /^(quickjs-emscripten-core|@jitl\/quickjs-wasmfile-release-sync|sucrase|zod\/mini)$/,
  workers: /^(@jitl\/quickjs-wasmfile-release-sync\/wasm\?url)$/,
  rl: /^zod\/mini$/,
  model: /^zod\/mini$/,
  loading: /^zod\/mini$/,
  policy: /^zod\/mini$/,
  runs: /^(apache-arrow|fflate|zod\/mini)$/,
  formats: /^(apache-arrow|zod\/mini)$/,
  session: /^zod\/mini$/,
  storage: /^zod\/mini$/,
  tuning: /^zod\/mini$/,
  text: /^(@huggingface\/tokenizers|zod\/mini)$/,
};

const files: readonly SourceFile[] = trackedFiles((path) => /^(src|workers)\//.test(path) && isTypeScript(path));

/** Groups of files that import each other in a circle, by Tarjan's algorithm. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file) as number);
    stack.push(file);
    for (const next of graph.get(file) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(file, Math.min(low.get(file) as number, low.get(next) as number));
    }
    if (low.get(file) !== index.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) found.push(circle);
  };
  for (const file of graph.keys()) if (!index.has(file)) visit(file);
  return found;
}

/** "app", "protocol", "workers", a room of the engine, or "errors". */
function partOf(path: string): string {
  const parts = path.split("/");
  if (parts[0] === "workers") return "workers";
  if (parts[1] === "plugins") return path.endsWith(".tsx") || parts[2] === "panels.ts" ? "panels" : "plugins";
  if (parts[1] !== "engine") return parts[1] ?? "";
  if (/^src\/engine\/rl\/loops\/(.*\/)?abouts?\.ts$/.test(path)) return "loops";
  if (/^src\/engine\/rewards\/(terms\/.*|term|meteor\/tokens)\.ts$/.test(path)) return "terms";
  return parts.length > 3 ? (parts[2] as string) : (parts[2] ?? "").replace(/\.ts$/, "");
}

/** The plug-in of a file; undefined for the core and for the lists. */
function pluginOf(path: string): string | undefined {
  return /^src\/plugins\/([\w-]+)\//.exec(path)?.[1];
}

function allowed(from: string, target: string): boolean {
  const [part, to] = [partOf(from), partOf(target)];
  const [plugin, other] = [pluginOf(from), pluginOf(target)];
  if (plugin !== undefined) return other === undefined || other === plugin || NEEDS[plugin]?.includes(other) === true;
  if (from in LISTS) return true;
  if (to === "plugins" || to === "panels") return LISTS[target]?.test(from) === true;
  if (part === to || to === "errors") return true;
  if (part === "app") return to === "protocol" || to === "workers" || to in ROOMS;
  if (part === "protocol" || part === "workers") return to in ROOMS || (part === "workers" && to === "protocol");
  return ROOMS[part]?.includes(to) ?? false;
}

describe("imports", () => {
  it("are found at all", () => {
    expect(files.length).toBeGreaterThan(200);
    expect(files.flatMap(importsOf).length).toBeGreaterThan(files.length);
  });

  it("know every room", () => {
    const rooms = new Set(
      files.filter(({ path }) => /^src\/engine\/[^/]+\//.test(path)).map(({ path }) => partOf(path)),
    );
    expect([...rooms].filter((room) => !(room in ROOMS))).toEqual([]);
  });

  it("know every list of plug-ins", () => {
    const lists = files.filter(({ path }) => /^src\/plugins\/[^/]+$/.test(path)).map(({ path }) => path);
    expect(lists.filter((path) => !(path in LISTS))).toEqual([]);
    expect(lists.length).toBeGreaterThan(1);
  });

  it("reach every plug-in from a list or a tool, and no plug-in from elsewhere in the core", () => {
    const tools = trackedFiles((path) => path.startsWith("scripts/") && isTypeScript(path));
    const listed = [...files.filter(({ path }) => path in LISTS), ...tools].flatMap(importsOf).map(pluginOf);
    const folders = new Set(files.map(({ path }) => pluginOf(path)).filter((name) => name !== undefined));
    expect([...folders].filter((name) => !listed.includes(name))).toEqual([]);
    expect(allowed("src/engine/rl/loops/registry.ts", "src/plugins/question-answer/rollout.ts")).toBe(false);
    expect(allowed("workers/data.ts", "src/plugins/question-answer/rollout.ts")).toBe(false);
    expect(allowed("src/plugins/one/a.ts", "src/plugins/other/b.ts")).toBe(false);
  });

  it("go down only", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => /^(src|workers|scripts|tests)\//.test(target) && !allowed(file.path, target))
        .map((target) => `${file.path} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("take only types from workers, so that the page loads none of their code", () => {
    const code = /^import (?!type )[^;]*"(?:\.\.\/)+workers\/[^"]+";/gm;
    expect('import { a } from "../../workers/data.ts";').toMatch(code);
    expect(files.flatMap(({ path, text }) => (partOf(path) === "workers" ? [] : (text.match(code) ?? [])))).toEqual([]);
  });

  it("have no circle between rooms", () => {
    const above = (room: string, seen: readonly string[]): string[] =>
      (ROOMS[room] ?? []).flatMap((next) =>
        seen.includes(next) ? [[...seen, next].join(" → ")] : above(next, [...seen, next]),
      );
    expect(Object.keys(ROOMS).flatMap((room) => above(room, [room]))).toEqual([]);
  });

  it("keep the rooms of the page in order", () => {
    const roomOf = (path: string): string => (/^src\/app\/([\w-]+)\//.exec(path) ?? ["", ""])[1] as string;
    const page = files.filter(({ path }) => roomOf(path) !== "");
    expect([...new Set(page.map(({ path }) => roomOf(path)))].filter((room) => !(room in PAGE_ROOMS))).toEqual([]);
    const wrong = page.flatMap((file) =>
      importsOf(file)
        .filter((target) => roomOf(target) !== "" && roomOf(target) !== roomOf(file.path))
        .filter((target) => !PAGE_ROOMS[roomOf(file.path)]?.includes(roomOf(target)))
        .map((target) => `${file.path} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("have no circle between files", () => {
    const graph = new Map(files.map((file) => [file.path, importsOf(file)] as const));
    expect(
      circles(
        new Map([
          ["a", ["b"]],
          ["b", ["c"]],
          ["c", ["b"]],
        ]),
      ),
    ).toEqual([["b", "c"]]);
    expect(circles(graph)).toEqual([]);
  });

  it("have no circle between modules of the Python package, also for types", () => {
    const root = "python/sa2va_lab/";
    const modules = trackedFiles((path) => path.startsWith(root) && path.endsWith(".py"));
    const paths = new Set(modules.map(({ path }) => path));
    const graph = new Map(
      modules.map(({ path, text }) => {
        const found = [...text.matchAll(/^ *from (\.+)([\w.]*) import ([\w, ]+)/gm)].flatMap(
          ([, dots, name, names]) => {
            const folder = path.split("/").slice(0, -(dots as string).length);
            const module = [...folder, ...(name as string).split(".").filter(Boolean)].join("/");
            const inside = (names as string).split(/, */).map((each) => `${module}/${each.split(" ")[0]}.py`);
            const own = name === "" ? [] : [`${module}.py`, `${module}/__init__.py`];
            return [...own, ...inside].filter((each) => paths.has(each));
          },
        );
        return [path, found] as const;
      }),
    );
    expect(graph.get(`${root}play.py`)).toContain(`${root}rewards.py`);
    expect(circles(graph)).toEqual([]);
  });

  it("take packages only where they belong", () => {
    const wrong = files.flatMap((file) => {
      const permitted = PACKAGES[partOf(file.path)];
      return importsOf(file)
        .filter((name) => !/^(src|workers|scripts|tests)\//.test(name) && permitted?.test(name) !== true)
        .map((name) => `${file.path} → ${name}`);
    });
    expect(wrong).toEqual([]);
  });
});
