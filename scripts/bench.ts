/**
 * `npm run bench -- [--suite kernels|decode|step] [--where node|chromium] [--rounds N] [--budget SECONDS] [--only TEXT]
 * [--no-jax] [--no-ort] [--processor-time] [--card] [--json] [--write]`
 * `npm run bench -- --suite meteor [--rounds N]` · `npm run bench -- --suite memory [--steps N]`
 *
 * How many times faster our kernels are than the stock ops of TensorFlow.js, than jax-js and, in Chromium, than
 * onnxruntime-web, measured in turn in one process or page: medians over the rounds, and of the ratios of neighbouring
 * rounds. `LAB_VK=lavapipe|swiftshader` chooses the driver, in Chromium too. `--budget` ends rounds early and leaves the
 * last cases out, saying which; `--only` measures cases whose name contains TEXT, or one of several parted by "|"; `--processor-time` counts what the
 * process or browser used instead of what passed, which is what a crowded machine with a software adapter can tell;
 * `--card` measures the programs for graphics cards on a software adapter too, where they are slow;
 * `--write` writes docs/performance/*.json and the tables made of them. The suite meteor counts caption pairs a second instead, and
 * memory prints what is held every 25 of N small steps (500).
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
import { runTool } from "./lib/arguments.ts";
import { writeGeneratedDocs } from "./lib/build/generated-docs.ts";
import { root } from "./lib/ensure.mjs";
import { openNodeDevice } from "./lib/node/node-gpu.ts";

/** Share of the step suite's time for the first steps of fresh processes. */
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
