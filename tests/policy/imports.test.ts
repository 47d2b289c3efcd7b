/** Imports go down only: app → protocol → engine, and inside the engine from room to room as listed here. */
import { describe, expect, it } from "vitest";
import { importsOf, isTypeScript, trackedFiles } from "../support/sources.ts";

/** What each room of the engine may import, beside src/engine/errors.ts. Everything else is forbidden. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  bytes: [],
  config: ["bytes"],
  text: ["bytes"],
  data: ["bytes"],
  gpu: ["bytes"],
  rewards: ["bytes", "config", "data"],
  model: ["bytes", "text", "data", "gpu"],
  plan: ["config", "gpu", "model"],
  policy: ["bytes", "config", "text", "data", "gpu", "model"],
  runs: ["bytes", "config", "data", "rewards"],
  loading: ["bytes", "config", "text", "gpu", "model", "runs"],
  eval: ["bytes", "config", "text", "data", "gpu", "model", "policy", "rewards", "runs"],
  sft: ["bytes", "text", "data", "gpu", "model", "policy", "rewards"],
  rl: [
    "bytes",
    "config",
    "text",
    "data",
    "gpu",
    "model",
    "policy",
    "rewards",
    "runs",
    "eval",
    "plan",
    "sft",
    "loading",
  ],
  export: ["bytes", "config", "text", "data", "gpu", "model", "policy", "rewards", "runs"],
  scratch: ["bytes", "gpu", "model", "rl", "sft"],
  "self-test": ["gpu", "model", "policy", "rl"],
  parity: ["bytes", "config", "text", "data", "gpu", "model", "policy", "rewards", "runs", "eval", "rl", "sft"],
};

/** Files that may be imported across what the rooms allow: formats that know neither tensors nor devices. */
const SHARED: Readonly<Record<string, RegExp>> = {
  runs: /^src\/engine\/model\/(safetensors(-write)?|peft-names)\.ts$/,
};

/** Packages by the part that may use them; a part that is absent may use none. */
const PACKAGES: Readonly<Record<string, RegExp>> = {
  app: /^(react|react-dom|zustand|radix-ui|uplot|recharts|@tanstack\/react-virtual)(\/|$)/,
  data: /^(apache-arrow|fzstd|lz4js)(\/|$)/,
  export: /^fflate$/,
  gpu: /^@tensorflow\/tfjs(-backend-webgpu)?$/,
  rewards: /^(quickjs-emscripten-core|@jitl\/quickjs-wasmfile-release-sync|sucrase)$/,
  workers: /^(@jitl\/quickjs-wasmfile-release-sync\/wasm\?url|@mlc-ai\/web-llm)$/,
  runs: /^(apache-arrow|fflate|zod\/mini)$/,
  text: /^@huggingface\/tokenizers$/,
};

const files = trackedFiles((path) => /^(src|workers)\//.test(path) && isTypeScript(path));

/** "app", "protocol", "workers", a room of the engine, or "errors". */
function partOf(path: string): string {
  const parts = path.split("/");
  if (parts[0] === "workers") return "workers";
  if (parts[1] !== "engine") return parts[1] ?? "";
  return parts.length > 3 ? (parts[2] as string) : (parts[2] ?? "").replace(/\.ts$/, "");
}

function allowed(from: string, target: string): boolean {
  const [part, to] = [partOf(from), partOf(target)];
  if (part === to || to === "errors") return true;
  if (part === "app") return to === "protocol" || to in ROOMS;
  if (part === "protocol" || part === "workers") return to in ROOMS || (part === "workers" && to === "protocol");
  return (ROOMS[part]?.includes(to) ?? false) || (SHARED[part]?.test(target) ?? false);
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

  it("go down only", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => /^(src|workers|scripts|tests)\//.test(target) && !allowed(file.path, target))
        .map((target) => `${file.path} → ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it("have no circle between rooms", () => {
    const above = (room: string, seen: readonly string[]): string[] =>
      (ROOMS[room] ?? []).flatMap((next) =>
        seen.includes(next) ? [[...seen, next].join(" → ")] : above(next, [...seen, next]),
      );
    expect(Object.keys(ROOMS).flatMap((room) => above(room, [room]))).toEqual([]);
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
