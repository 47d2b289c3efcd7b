/** Loops over workgroup memory in the programs of a card have literal bounds, or its compiler clamps every index. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { cardPrograms } from "../../../scripts/lib/isa/card-programs.ts";
import { setAdapterClass } from "../../../src/engine/gpu/forms/active.ts";
import { shaderSource } from "../../../src/engine/gpu/runtime/pipelines.ts";

const LIMITS = {
  maxComputeWorkgroupStorageSize: 65_536,
  maxComputeInvocationsPerWorkgroup: 1024,
  maxStorageBuffersPerShaderStage: 16,
  unit: { m: 16, n: 16, k: 16, lanes: 64 },
};

beforeAll(() => setAdapterClass("amd"));
afterAll(() => setAdapterClass("integrated"));

/** The text from `open` to the bracket that closes it. */
function bracketed(text: string, open: number): string {
  const [one, other] = text[open] === "(" ? ["(", ")"] : ["{", "}"];
  let depth = 0;
  for (let at = open; at < text.length; at++) {
    if (text[at] === one) depth++;
    if (text[at] === other && --depth === 0) return text.slice(open, at + 1);
  }
  throw new Error(`A bracket is open in ${text.slice(open, open + 80)}`);
}

const mentions = (text: string, names: ReadonlySet<string>): boolean =>
  (text.match(/[A-Za-z_]\w*/g) ?? []).some((name) => names.has(name));

/** Headers of the loops whose condition reads a uniform and whose variable, or one derived from it, is such an index. */
function boundedByUniforms(source: string): string[] {
  const arrays = [...source.matchAll(/var<workgroup> (\w+)/g)].map(([, name]) => name as string);
  const functions = new Map(
    [...source.matchAll(/fn (\w+)\(/g)].map((found) => [
      found[1] as string,
      bracketed(source, source.indexOf("{", found.index)),
    ]),
  );
  const touches = (code: string, names: ReadonlySet<string>): boolean =>
    arrays.some((array) =>
      [...code.matchAll(new RegExp(`\\b${array}\\[`, "g"))].some(({ index }) => {
        const from = index + array.length;
        return mentions(code.slice(from, code.indexOf("]", from)), names);
      }),
    ) ||
    [...functions].some(
      ([name, body]) =>
        arrays.some((array) => body.includes(`${array}[`)) &&
        [...code.matchAll(new RegExp(`\\b${name}\\(`, "g"))].some(({ index }) =>
          mentions(bracketed(code, index + name.length), names),
        ),
    );
  const found: string[] = [];
  for (const { index } of source.matchAll(/\bfor \(/g)) {
    const header = bracketed(source, index + 4);
    const [begin = "", condition = ""] = header.split(";");
    if (!/\bu\.\w/.test(condition) && !/\bu\.\w/.test(begin.replace(/.*=/, ""))) continue;
    const start = source.indexOf("{", index + 4 + header.length);
    const body = bracketed(source, start);
    const names = new Set(/(?:var )?(\w+) =/.exec(begin)?.slice(1) ?? []);
    for (let size = -1; size !== names.size; ) {
      size = names.size;
      for (const [, name, value] of body.matchAll(/\b(?:let|var) (\w+) = ([^;]+);/g)) {
        if (mentions(value as string, names)) names.add(name as string);
      }
    }
    if (touches(body, names)) found.push(header);
  }
  return found;
}

it("no form of a card bounds a loop over workgroup memory by a uniform", () => {
  const programs = cardPrograms(LIMITS, true);
  expect(programs.length).toBeGreaterThan(200);
  const loops = programs.flatMap(({ program }) =>
    boundedByUniforms(shaderSource(program)).map((header) => `${program.name}: ${header}`),
  );
  expect(loops).toEqual([]);
});

it("no form of a card multiplies a known extent by a uniform", () => {
  const programs = cardPrograms(LIMITS, true).map(({ program }) => program);
  const hidden = programs.filter((program) => /min\(u\.\w+, 1u\)/.test(shaderSource(program)));
  expect(hidden.map(({ name }) => name)).toEqual([]);
});

it("a software adapter's compiler cannot unroll the same loops", () => {
  setAdapterClass("software");
  try {
    const tiled = cardPrograms(LIMITS, true).filter(({ kind }) => /^(?:product|packed product|attention)\b/.test(kind));
    const unrolled = tiled.filter(
      ({ kind, program }) => kind !== "packed product of few rows" && !shaderSource(program).includes(", 1u)"),
    );
    expect(unrolled.map(({ program }) => program.name)).toEqual([]);
  } finally {
    setAdapterClass("amd");
  }
});
