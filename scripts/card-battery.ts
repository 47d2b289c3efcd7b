/**
 * npm run card-battery -- --pack DIR
 * npm run card-battery -- --run [--out FILE] [--seconds N] [--stages NAME,NAME…] [--sizes small]
 *
 * Measures a graphics card: adapter, self-test at the lengths of a 1B model, roofline, tokens of a 1B model, the
 * fastest kernel forms at its shapes, kernels against stock and jax-js, decoding, steps of the pocket model and at the
 * shapes of 1B, the demo. Writes JSON lines and continues where an earlier call ended (exit code 3: there is more to
 * measure). --pack makes a folder that does this on a Linux machine with only a Vulkan driver installed: `sh DIR/run.sh`.
 */
import { one, parseArguments, runTool } from "./lib/arguments.ts";

const words = process.argv.slice(2);
if (words.includes("--run")) await import("../bench/battery/main.ts");
else {
  await runTool(async () => {
    const directory = one(parseArguments(words, { pack: { takes: 1 } }), "pack");
    const { badInput } = await import("../src/engine/errors.ts");
    if (directory === undefined) throw badInput("Name what to do: --pack DIR or --run");
    const { packBattery } = await import("./lib/build/pack-battery.ts");
    process.stdout.write(`${directory}: ${await packBattery(directory)} bytes\n`);
    return 0;
  });
}
