/**
 * Compiles the card programs on the null card that the environment names, and prints one JSON line each; started by
 * null-card.ts, because a process has one Vulkan driver and one card.
 */
import { readFileSync } from "node:fs";
import { sha256Hex } from "../../../src/engine/bytes/hash.ts";
import { formLimits } from "../../../src/engine/gpu/forms/active.ts";
import { halfPrograms } from "../../../src/engine/gpu/runtime/custom-op.ts";
import { compile, shaderSource } from "../../../src/engine/gpu/runtime/pipelines.ts";
import { openNodeDevice } from "../node/node-gpu.ts";
import { readLog, workOf } from "./assembly.ts";
import { cardPrograms } from "./card-programs.ts";

const [log = "", only = "", withAssembly = ""] = process.argv.slice(2);
const { device, report } = await openNodeDevice();
process.stdout.write(`${JSON.stringify({ adapter: report.description })}\n`);
let read = 0;
for (const { kind, program, trips } of cardPrograms(formLimits(), halfPrograms())) {
  if (!program.name.includes(only)) continue;
  device.pushErrorScope("internal");
  device.pushErrorScope("validation");
  compile(device, program);
  const errors = [await device.popErrorScope(), await device.popErrorScope()];
  const text = readFileSync(log, "utf8").slice(read);
  read += text.length;
  const [found] = readLog(text);
  process.stdout.write(
    `${JSON.stringify({
      name: program.name,
      kind,
      threads: program.workgroup[0] * program.workgroup[1],
      source: (await sha256Hex(new TextEncoder().encode(shaderSource(program)))).slice(0, 12),
      error:
        errors.find((error) => error !== null)?.message ?? (found === undefined ? "the driver logged nothing" : null),
      statistics: found?.statistics ?? {},
      work: (found && workOf(found.assembly, trips)) ?? null,
      ...(withAssembly === "" ? {} : { assembly: found?.assembly ?? "" }),
    })}\n`,
  );
}
// The device keeps the process alive; what is written to a pipe may still be on its way.
process.stdout.write("", () => process.exit(0));
