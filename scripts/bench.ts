/**
 * `npm run bench -- [--suite kernels|decode|step] [--rounds N] [--json]`
 *
 * How many times faster our kernels are than the stock ops of TensorFlow.js, measured in turn in one process: medians
 * over the rounds, and of the ratios of neighbouring rounds. `LAB_VK=lavapipe|swiftshader` chooses the driver.
 */
import { LabError } from "../src/engine/errors.ts";
import { decodeRows } from "./bench/decode.ts";
import { kernelRows } from "./bench/kernels.ts";
import { printRow } from "./bench/measure.ts";
import { stepRows } from "./bench/step.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { openNodeDevice } from "./lib/node-gpu.ts";

await runTool(async () => {
  const options = parseArguments(process.argv.slice(2), {
    suite: { takes: 1 },
    rounds: { takes: 1 },
    json: { takes: 0 },
  });
  const suite = one(options, "suite") ?? "kernels";
  if (suite !== "kernels" && suite !== "decode" && suite !== "step") {
    throw new LabError("bad-input", `--suite must be kernels, decode or step, not "${suite}"`, { subject: "suite" });
  }
  const rounds = whole(options, "rounds", 1, 1000, 5);
  const device = await openNodeDevice();
  try {
    const { description, vendor } = device.report;
    const adapter = description || vendor;
    process.stderr.write(`${adapter}\n`);
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
