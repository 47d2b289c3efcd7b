/** The built files of the page: a small first script, and no engine in any of the page's own scripts. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { SCREENS } from "../../src/app/stores/route-text.ts";
import { arePluggedIn } from "../support/plugins.ts";

const DIST = join(root, "dist");
/** Of the scripts that any screen needs, and of those with the first screen. */
const MOST_FIRST = 170_000;
const MOST_BYTES = 190_000;
/** What only code for a GPU contains: WGSL entry points and the calls that compile them. */
const ENGINE = /@compute|createComputePipeline/;

/** A codec's name in a container, which only the code for video files contains. */
const VIDEO_FILES = /V_MPEGH/;

const scripts = new Map<string, string>();

beforeAll(() => {
  for (const name of readdirSync(join(DIST, "assets"))) {
    if (name.endsWith(".js")) scripts.set(name, readFileSync(join(DIST, "assets", name), "utf8"));
  }
});

/** The files that these load, directly or through others. */
function closure(first: readonly string[], imports: (code: string) => readonly string[]): readonly string[] {
  const found = new Set(first);
  for (const name of found) for (const next of imports(scripts.get(name) ?? "")) if (scripts.has(next)) found.add(next);
  return [...found];
}

const names = (code: string, pattern: RegExp): string[] =>
  [...code.matchAll(pattern)].map((match) => match[1] as string);
const statics = (code: string): string[] => names(code, /(?:from|import)\s*"\.\/([^"]+\.js)"/g);
const all = (code: string): string[] => names(code, /["'`](?:\.\/|assets\/)([^"'`]+\.js)["'`]/g);
/** A worker's file is named by an address; the files it loads belong to the worker. */
const withoutWorkers = (code: string): string[] => {
  const workers = new Set(names(code, /new URL\([^)]*?([\w-]+\.js)/g));
  return all(code).filter((name) => !workers.has(name));
};

it(`starts with at most ${MOST_BYTES / 1000} kB of scripts, compressed, the first screen included`, () => {
  const html = readFileSync(join(DIST, "index.html"), "utf8");
  const entries = names(html, /assets\/([\w.-]+\.js)/g);
  expect(entries.length).toBeGreaterThan(0);
  const screens = [...scripts.keys()].filter((name) => /^home-screen-/.test(name));
  expect(screens).toHaveLength(1);
  const bytesOf = (files: readonly string[]): number =>
    files.reduce((sum, name) => sum + gzipSync(scripts.get(name) as string).length, 0);
  expect(bytesOf(closure(entries, statics))).toBeLessThanOrEqual(MOST_FIRST);
  const first = closure([...entries, ...screens], statics);
  expect(bytesOf(first)).toBeLessThanOrEqual(MOST_BYTES);
  const video = [...scripts.keys()].filter((name) => VIDEO_FILES.test(scripts.get(name) as string));
  expect(video.length > 0).toBe(arePluggedIn("clips"));
  expect(first.filter((name) => video.includes(name))).toEqual([]);
  const data = [...scripts.keys()].filter((name) => name.startsWith("data-"));
  expect(closure(data, statics).filter((name) => video.includes(name))).toEqual([]);
});

it("leaves out React's development build", () => {
  const word = "react_stack_bottom_frame";
  const development = join(root, "node_modules", "react-dom/cjs/react-dom-client.development.js");
  expect(readFileSync(development, "utf8")).toContain(word);
  expect([...scripts].filter(([, code]) => code.includes(word)).map(([name]) => name)).toEqual([]);
});

it("has no engine outside the workers", () => {
  const html = readFileSync(join(DIST, "index.html"), "utf8");
  const page = closure(names(html, /assets\/([\w.-]+\.js)/g), withoutWorkers);
  // On every screen and in System, so that the list is not empty by mistake.
  expect(page.filter((name) => /-screen-/.test(name)).length).toBeGreaterThanOrEqual(SCREENS.length);
  expect(page.filter((name) => /^system-/.test(name))).toHaveLength(1);
  expect(page.filter((name) => ENGINE.test(scripts.get(name) as string))).toEqual([]);
  const trainer = [...scripts.keys()].find((name) => name.startsWith("trainer-"));
  expect(scripts.get(trainer as string)).toMatch(ENGINE);
});
