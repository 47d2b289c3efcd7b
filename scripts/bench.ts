/**
 * `npm run bench -- [--suite kernels|decode|step] [--where node|chromium] [--rounds N] [--budget SECONDS] [--only TEXT]
 * [--no-jax] [--no-ort] [--processor-time] [--card] [--json] [--write]`
 * `npm run bench -- --suite meteor [--rounds N] [--json]` · `npm run bench -- --suite memory [--steps N]`
 *
 * Measures how many times faster our kernels are than stock TensorFlow.js, jax-js and, in Chromium, onnxruntime-web.
 * All are timed in turn in one process or page; results are medians over the rounds, and medians of the ratios of
 * neighbouring rounds. `LAB_VK=lavapipe|swiftshader` chooses the driver, also in Chromium.
 * --budget ends rounds early and leaves out the last cases, naming them. --only measures cases whose name contains
 * TEXT, or one of several texts separated by "|". --processor-time measures processor time instead of wall time, for a
 * software adapter on a busy machine. --card also measures the programs for graphics cards on a software adapter,
 * where they are slow. --write writes docs/performance/*.json and the tables generated from them.
 * The suite meteor measures caption pairs per second. The suite memory prints the memory in use every 25 of N small
 * steps (500) as JSON lines. An option that changes nothing on a suite is refused.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type BenchRow, summaryOf } from "../bench/row.ts";
import { memoryRows } from "../bench/suites/memory.ts";
import { meteorRows } from "../bench/suites/meteor.ts";
import { chromiumPlace } from "../bench/tool/chromium-place.ts";
import { firstRows } from "../bench/tool/first-steps.ts";
import { nodePlace } from "../bench/tool/node-place.ts";
import { isDeviceSuite, type ToolOptions, toolOptions } from "../bench/tool/options.ts";
import type { Listener } from "../bench/tool/place.ts";
import { rowLine } from "../bench/tool/print.ts";
import { factsName, factsText } from "../bench/tool/tables.ts";
import { badInput } from "../src/engine/errors.ts";
import { runTool } from "./lib/arguments.ts";
import { writeGeneratedDocs } from "./lib/build/generated-docs.ts";
import { root } from "./lib/ensure.mjs";
import { openNodeDevice } from "./lib/node/node-gpu.ts";

/** Maximum share of the step suite's time for the first steps of new processes. */
const FIRST_SHARE = 0.4;

await runTool(async () => {
  const options = toolOptions(process.argv.slice(2));
  if (options.suite === "meteor") await meteor(options);
  else if (options.suite === "memory") await memory(options);
  else await onDevice(options);
  return 0;
});

async function onDevice(options: ToolOptions): Promise<void> {
  const { suite, where, rounds, budget, only, jax, ort, processorTime, card, json } = options;
  if (!isDeviceSuite(suite)) return;
  const end = performance.now() + budget * 1000;
  const rows: BenchRow[] = [];
  const leftOut: string[] = [];
  const listener: Listener = {
    onRow(row) {
      if (rows.length === 0) process.stderr.write(`${row.adapter}, ${row.where}\n`);
      rows.push(row);
      process.stdout.write(`${json ? JSON.stringify(row) : rowLine(row)}\n`);
    },
    onLeftOut(what, why) {
      leftOut.push(`${what}: ${why}`);
      process.stderr.write(`Left out: ${what}: ${why}\n`);
    },
  };
  const place = where === "chromium" ? await chromiumPlace(process.env.LAB_VK) : nodePlace();
  try {
    const seconds = suite === "step" ? budget * (1 - FIRST_SHARE) : budget;
    const given = { suite, rounds, budget: seconds, only, jax, ort: ort && suite === "kernels", processorTime, card };
    const { rates } = await place.run({ ...given, disguised: null }, listener);
    const [like] = rows;
    if (suite === "step" && like !== undefined) {
      const { adapter } = like;
      await firstRows(place, { adapter, where }, { only, jax, processorTime, deadline: end }, listener);
    }
    if (rows.length === 0 && only !== "")
      throw badInput(`No case of suite ${suite} with "${only}" in its name was measured`, "only");
    const summary = summaryOf(rows);
    if (summary !== "") process.stderr.write(`Geometric mean ${summary}\n`);
    if (options.write && like !== undefined) {
      const facts = { suite, rows, rates, leftOut, processorTime };
      await writeFile(join(root, "docs", "performance", factsName(facts)), factsText(facts));
      await writeGeneratedDocs();
    }
  } finally {
    await place.close();
  }
}

async function meteor({ rounds, json }: ToolOptions): Promise<void> {
  for await (const row of meteorRows(rounds)) {
    const { words_per_caption: words, pairs_per_second: rate } = row;
    const text = `METEOR, ${row.case}: ${Math.round(rate)} pairs a second and core, ${words.toFixed(0)} words a caption`;
    process.stdout.write(`${json ? JSON.stringify(row) : text}\n`);
  }
}

async function memory({ steps }: ToolOptions): Promise<void> {
  const device = await openNodeDevice();
  try {
    const { description, vendor } = device.report;
    for (const row of await memoryRows(device, description || vendor, steps)) {
      process.stdout.write(`${JSON.stringify(row)}\n`);
    }
  } finally {
    device.close();
  }
}
