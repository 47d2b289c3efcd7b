/** The file of a sweep: model, rows, settings and seeds of its runs. */
import * as z from "zod/mini";
import { checkShape } from "../../engine/bytes/json.ts";
import { requireParsed } from "../../engine/config/parse.ts";
import { PRESETS, type PresetName, presetConfig } from "../../engine/config/presets.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import { badInput, type LabError, quote } from "../../engine/errors.ts";
import { SCORES, type ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import { readRecordFile } from "../exchange/settings-file.ts";

/** Scripts of the project that may make the inputs of a sweep. */
const BUILDERS = ["build-pocket", "build-pocket-shards", "damage-pocket", "vague-pocket"] as const;

const VALUES = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
const FILE = z.object({
  title: z.string(),
  /** The question that the sweep answers; printed above its table. */
  question: z.optional(z.string()),
  preset: z.optional(z.enum(PRESETS.map(({ name }) => name) as [PresetName, ...PresetName[]])),
  /** Folders, relative to the project's root; if absent, the preset's pocket model and the demo shards. */
  model: z.optional(z.string()),
  shards: z.optional(z.array(z.string()).check(z.minLength(1))),
  /** Made before the first job, except where the folder exists already. */
  build: z.optional(
    z.array(
      z.strictObject({
        script: z.enum(BUILDERS),
        out: z.string(),
        words: z.optional(z.array(z.union([z.string(), z.number()]))),
      }),
    ),
  ),
  settings: z.optional(VALUES),
  seeds: z.array(z.int().check(z.gte(0), z.lte(2 ** 32 - 1))).check(z.minLength(1)),
  /** Named changes of the settings; or `grid`, every combination of the listed values. */
  variants: z.optional(
    z
      .array(z.strictObject({ name: z.string().check(z.regex(/^[a-z0-9][a-z0-9.-]*$/)), settings: VALUES }))
      .check(z.minLength(1)),
  ),
  grid: z.optional(z.record(z.string(), z.array(z.union([z.string(), z.number(), z.boolean()])).check(z.minLength(1)))),
  /** Scores of the table; all if absent. */
  metrics: z.optional(z.array(z.enum(SCORES as [ScoreId, ...ScoreId[]]))),
});

export interface SweepBuild {
  readonly script: (typeof BUILDERS)[number];
  readonly out: string;
  readonly words: readonly string[];
}

export interface SweepJob {
  /** Folder name: the variant and the seed. */
  readonly name: string;
  readonly variant: string;
  readonly seed: number;
  /** Every setting of the run. */
  readonly config: LabConfig;
}

export interface SweepPlan {
  /** File name without its ending. */
  readonly name: string;
  readonly title: string;
  readonly question: string | null;
  readonly preset: PresetName;
  /** Folders as the file names them; null for the preset's pocket model and the demo shards. */
  readonly model: string | null;
  readonly shards: readonly string[] | null;
  readonly build: readonly SweepBuild[];
  /** Variants in file order, and within each its seeds in order. */
  readonly jobs: readonly SweepJob[];
  readonly metrics: readonly ScoreId[];
}

/**
 * @param text JSON or YAML
 * @param file its name or path, for messages
 * @param tell receives a sentence about each setting translated from TRL's names
 * @throws LabError("bad-input" | "bad-config") naming the file, and the field or setting
 */
export function readSweep(text: string, file: string, tell: (sentence: string) => void): SweepPlan {
  return sweepPlan(readRecordFile(text, file), file, tell);
}

/** The same from the file's content. */
export function sweepPlan(
  content: Readonly<Record<string, unknown>>,
  file: string,
  tell: (sentence: string) => void,
): SweepPlan {
  const read = checkShape(content, FILE, file);
  const unknown = Object.keys(content).find((key) => !(key in FILE.shape));
  if (unknown !== undefined) throw refused(file, `has the unknown field ${quote(unknown)}`);
  if (read.variants !== undefined && read.grid !== undefined) throw refused(file, "has both variants and a grid");
  const variants = read.variants ?? gridVariants(read.grid ?? {});
  const names = new Set(variants.map(({ name }) => name));
  if (names.size < variants.length) throw refused(file, "has two variants with the same name");
  if (new Set(read.seeds).size < read.seeds.length) throw refused(file, "lists a seed twice");
  const preset = read.preset ?? "demo";
  const { config: base, given } = requireParsed(read.settings ?? {}, presetConfig(preset), file, tell);
  if (given.seed !== undefined) throw refused(file, "sets seed, which the list of seeds replaces");
  const jobs = variants.flatMap(({ name, settings }) => {
    const { config, given } = requireParsed(settings, base, `${file}, variant ${name}`, tell);
    if (given.seed !== undefined) throw refused(file, `variant ${name} sets seed, which the list of seeds replaces`);
    if (config.evalSteps === 0) throw refused(file, `variant ${name} evaluates nothing: evalSteps is 0`);
    return read.seeds.map(
      (seed): SweepJob => ({
        name: `${name}-s${seed}`,
        variant: name,
        seed,
        config: { ...config, seed },
      }),
    );
  });
  return {
    name: (file.split(/[/\\]/).at(-1) ?? file).replace(/\.[^.]+$/, ""),
    title: read.title,
    question: read.question ?? null,
    preset,
    model: read.model ?? null,
    shards: read.shards ?? null,
    build: (read.build ?? []).map(({ script, out, words = [] }) => ({
      script,
      out,
      words: words.map(String),
    })),
    jobs,
    metrics: read.metrics ?? SCORES,
  };
}

/** Every combination, the last name varying fastest; a single variant for an empty grid. */
function gridVariants(grid: Readonly<Record<string, readonly (string | number | boolean)[]>>) {
  let all: { name: string; settings: Record<string, string | number | boolean> }[] = [{ name: "", settings: {} }];
  for (const [key, values] of Object.entries(grid)) {
    all = all.flatMap(({ name, settings }) =>
      values.map((value) => ({
        name: [...(name === "" ? [] : [name]), `${key}-${value}`].join("."),
        settings: { ...settings, [key]: value },
      })),
    );
  }
  // Names become folder names; values may contain any text.
  const safe = (name: string): string => name.toLowerCase().replace(/[\\/:*?"<>|\n\t]+/g, "-");
  return all.map(({ name, settings }) => ({ name: name === "" ? "run" : safe(name), settings }));
}

function refused(file: string, why: string): LabError {
  return badInput(`${file} ${why}; nothing was started`, file);
}
