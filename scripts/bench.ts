/**
 * `npm run bench -- [--suite kernels|decode|step|meteor] [--rounds N] [--only TEXT] [--no-jax] [--processor-time]
 * [--json] [--write]`
 * `npm run bench -- --suite memory [--steps N]`
 *
 * How many times faster our kernels are than the stock ops of TensorFlow.js and than jax-js, measured in turn in one
 * process: medians over the rounds, and of the ratios of neighbouring rounds. `LAB_VK=lavapipe|swiftshader` chooses the
 * driver. `--only` measures cases whose name contains TEXT; `--processor-time` counts
 * what the process used instead of what passed, which is what a crowded machine with a software adapter can tell;
 * `--write` puts the kernels' table into docs/performance.md. The suite meteor counts
 * caption pairs a second instead, and memory prints what is held every 25 of N small steps (500).
 */
import { join } from "node:path";
import { LabError } from "../src/engine/errors.ts";
import { decodeRows } from "./bench/decode.ts";
import { openJax } from "./bench/jax.ts";
import { kernelRows } from "./bench/kernels.ts";
import { type BenchRow, geometricMean, printRow, processorClock, wallClock } from "./bench/measure.ts";
import { memoryRows } from "./bench/memory.ts";
import { meteorRows } from "./bench/meteor.ts";
import { peakRate } from "./bench/peak.ts";
import { stepRows } from "./bench/step.ts";
import { writeTable } from "./bench/write.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { openNodeDevice } from "./lib/node-gpu.ts";

const SUITES = ["kernels", "decode", "step", "meteor", "memory"] as const;

await runTool(async () => {
  const options = parseArguments(process.argv.slice(2), {
    suite: { takes: 1 },
    rounds: { takes: 1 },
    steps: { takes: 1 },
    only: { takes: 1 },
    "no-jax": { takes: 0 },
    "processor-time": { takes: 0 },
    json: { takes: 0 },
    write: { takes: 0 },
  });
  const suite = one(options, "suite") ?? "kernels";
  if (!(SUITES as readonly string[]).includes(suite)) {
    const message = `--suite must be one of ${SUITES.join(", ")}, not "${suite}"`;
    throw new LabError("bad-input", message, { subject: "suite" });
  }
  const only = one(options, "only");
  if (options.has("write") && (suite !== "kernels" || only !== undefined)) {
    throw new LabError("bad-input", "--write wants the whole kernels suite", { subject: "write" });
  }
  const rounds = whole(options, "rounds", 1, 1000, 5);
  if (suite === "meteor") {
    for await (const row of meteorRows(rounds)) {
      const { words_per_caption: words, pairs_per_second: rate } = row;
      const text = `METEOR, ${row.case}: ${Math.round(rate)} pairs a second and core, ${words.toFixed(0)} words a caption`;
      process.stdout.write(`${options.has("json") ? JSON.stringify(row) : text}\n`);
    }
    return 0;
  }
  const device = await openNodeDevice();
  try {
    const { description, vendor } = device.report;
    const adapter = description || vendor;
    process.stderr.write(`${adapter}\n`);
    if (suite === "memory") {
      for (const row of await memoryRows(device, adapter, whole(options, "steps", 1, 100_000, 500))) {
        process.stdout.write(`${JSON.stringify(row)}\n`);
      }
      return 0;
    }
    const clock = options.has("processor-time") ? processorClock : wallClock;
    const rows: BenchRow[] = [];
    const peak = suite === "kernels" ? await peakRate(clock) : 0;
    const jax = suite === "kernels" && !options.has("no-jax") ? await openJax() : undefined;
    const measured =
      suite === "kernels"
        ? kernelRows(adapter, rounds, peak, jax, only, clock)
        : suite === "decode"
          ? decodeRows(adapter, rounds)
          : stepRows(device, adapter, rounds);
    for await (const row of measured) {
      device.check();
      printRow(row, options.has("json"));
      rows.push(row);
    }
    summarise(rows);
    if (options.has("write")) await writeTable(join(root, "docs", "performance.md"), adapter, rows, peak);
  } finally {
    device.close();
  }
  return 0;
});

function summarise(rows: readonly BenchRow[]): void {
  const peers = rows.flatMap(({ ratio_jaxjs }) => (ratio_jaxjs === undefined ? [] : [ratio_jaxjs]));
  if (rows.length < 2) return;
  const stock = geometricMean(rows.map((row) => row.ratio_stock));
  const against =
    peers.length === 0 ? "" : `, against jax-js ${geometricMean(peers).toFixed(2)} (${peers.length} cases)`;
  process.stderr.write(`Geometric mean against stock ${stock.toFixed(2)}${against}\n`);
}
