/**
 * `npm run bench -- [--suite kernels|decode|step|meteor] [--rounds N] [--json]`
 * `npm run bench -- --suite memory [--steps N]`
 *
 * How many times faster our kernels are than the stock ops of TensorFlow.js, measured in turn in one process: medians
 * over the rounds, and of the ratios of neighbouring rounds. The suite meteor counts caption pairs a second instead, and
 * memory prints what is held after every tenth of N small steps (500). `LAB_VK=lavapipe|swiftshader` chooses the driver.
 */
import { LabError } from "../src/engine/errors.ts";
import { decodeRows } from "./bench/decode.ts";
import { kernelRows } from "./bench/kernels.ts";
import { printRow } from "./bench/measure.ts";
import { memoryRows } from "./bench/memory.ts";
import { meteorRows } from "./bench/meteor.ts";
import { stepRows } from "./bench/step.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { openNodeDevice } from "./lib/node-gpu.ts";

const SUITES = ["kernels", "decode", "step", "meteor", "memory"] as const;

await runTool(async () => {
  const options = parseArguments(process.argv.slice(2), {
    suite: { takes: 1 },
    rounds: { takes: 1 },
    steps: { takes: 1 },
    json: { takes: 0 },
  });
  const suite = one(options, "suite") ?? "kernels";
  if (!(SUITES as readonly string[]).includes(suite)) {
    const message = `--suite must be one of ${SUITES.join(", ")}, not "${suite}"`;
    throw new LabError("bad-input", message, { subject: "suite" });
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
    const rows =
      suite === "step"
        ? stepRows(device, adapter, rounds)
        : (suite === "decode" ? decodeRows : kernelRows)(adapter, rounds);
    for await (const row of rows) {
      device.check();
      printRow(row, options.has("json"));
    }
  } finally {
    device.close();
  }
  return 0;
});
