/** A loop is a folder and its lines in the two lists: nothing else imports its files or names it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { activeLoops } from "../../src/engine/config/derived.ts";
import { defaultConfig } from "../../src/engine/config/parse.ts";
import { PRESETS, REWARD_PRESETS } from "../../src/engine/config/presets.ts";
import type { LoopAbout } from "../../src/engine/rl/loops/about.ts";
import { HELD_OUT_LOOPS, LOOP_IDS, LOOPS } from "../../src/engine/rl/loops/abouts.ts";
import { EVAL_METRICS } from "../../src/engine/runs/evaluations/evaluation-metrics.ts";
import { compareCharts } from "../../src/plugins/compare/chart-specs.ts";
import { importsOf, isTypeScript, trackedFiles } from "../support/sources.ts";

const LISTS = ["src/plugins/list.ts", "src/plugins/loops.ts"];
const FOLDER = "src/plugins/question-answer/";

const files = trackedFiles((path) => /^(src|workers|scripts)\//.test(path) && isTypeScript(path));
const others = files.filter(({ path }) => !path.startsWith(FOLDER) && !LISTS.includes(path));

/** Settings and names that belong to one loop: those of the design notes, of older versions, and of a loop's own setting. */
const NAMES_LOOPS =
  /^src\/engine\/(config\/(aliases|groups\/mask)|runs\/checkpoint\/best-checkpoint)\.ts$|^src\/plugins\/clips\/preset\.ts$|^src\/app\/screens\/eval\/eval-metrics\.ts$/;

it("loops 1 and 2 are named only where a value belongs to one of them", () => {
  const named = /["'`]loop[12][_/]|\bloop[12][A-Z]\w+:|\bloop ?[=!]== ?[12]\b/;
  const wrong = files
    .filter(
      ({ path }) => path.startsWith("src/") && !path.startsWith("src/engine/rl/loops/") && !NAMES_LOOPS.test(path),
    )
    .filter(({ path }) => named.test(readFileSync(join(root, path), "utf8")));
  expect(wrong.map(({ path }) => path)).toEqual([]);
});

it("presets, held-out scores and the charts of Compare follow the registry", () => {
  const charts = compareCharts([], new Set(LOOP_IDS.flatMap((id) => [`loop${id}/reward`, `loop${id}/kl`])));
  expect(charts.map(({ id }) => id)).toEqual(
    ["reward", "kl"].flatMap((what) => LOOP_IDS.map((id) => `compare-${what}-${id}`)),
  );
  const own = LOOPS.flatMap(({ id, presets = [] }: LoopAbout) => presets.map(({ name }) => ({ id, name })));
  const alone = PRESETS.filter(({ values }) => values.loops !== undefined);
  expect(alone.map(({ name, values }) => ({ id: Number(values.loops), name }))).toEqual(own);
  for (const { values } of alone)
    expect(activeLoops({ ...defaultConfig(), ...values })).toEqual([Number(values.loops)]);
  const weighted = LOOPS.filter((loop: LoopAbout) => loop.matrices !== undefined);
  for (const { name, values } of REWARD_PRESETS) {
    const named = LOOP_IDS.filter((id) => Object.keys(values).some((key) => key.startsWith(`loop${id}`)));
    expect(named, name).toEqual(weighted.map(({ id }) => id));
  }
  expect(EVAL_METRICS).toEqual(
    expect.arrayContaining(HELD_OUT_LOOPS.flatMap(({ id }) => [`loop${id}_greedy`, `loop${id}_sampled`])),
  );
});

describe("the loop question → answer", () => {
  it("is in both lists", () => {
    const listed = files.filter(({ path }) => LISTS.includes(path)).flatMap(importsOf);
    expect(listed.filter((target) => target.startsWith(FOLDER))).toHaveLength(2);
  });

  it("is imported by nothing else", () => {
    const wrong = others.filter((file) => importsOf(file).some((target) => target.startsWith(FOLDER)));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  it("is named by nothing else", () => {
    const named = /question-answer|QUESTION_ANSWER|questionAnswer|[lL]oop ?3|loop ?[=!]== ?3\b/;
    const wrong = others.filter(({ path }) => named.test(readFileSync(join(root, path), "utf8")));
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });
});
