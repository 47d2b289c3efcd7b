/** The bench under Node on Dawn. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { nodeWordnet, openNodeRows, POCKET_MODEL } from "../../scripts/lib/node/node-rows.ts";
import { LabError } from "../../src/engine/errors.ts";
import { openAgain } from "../../src/engine/gpu/runtime/device.ts";
import { openJax } from "../baselines/jax.ts";
import type { Pocket } from "../pocket.ts";
import { runSuite } from "../run-suite.ts";
import type { FirstTask } from "../suites/first.ts";
import { type Clock, wallClock } from "../turns.ts";
import type { BenchPlace } from "./place.ts";

/** Processor milliseconds of this process; the software adapters run within it. */
const processorClock: Clock = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

export const nodeClock = (processorTime: boolean): Clock => (processorTime ? processorClock : wallClock);

export async function nodePocket(): Promise<Pocket> {
  const { rows, list } = await openNodeRows();
  return { rows, list, wordnet: await nodeWordnet(), model: await nodeFolder(POCKET_MODEL) };
}

/** Mesa keeps compiled programs on disk between processes; a first step must find none. */
const WITHOUT_CACHE = { MESA_SHADER_CACHE_DISABLE: "true" };

/** The last line a child process prints. */
async function childAnswer(script: string, argument: string): Promise<string> {
  const child = spawn(process.execPath, ["--import", "tsx", script, argument], {
    cwd: root,
    env: { ...process.env, ...WITHOUT_CACHE },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new LabError("internal", `A first step ended with code ${code}`);
  return text.trim().split("\n").at(-1) ?? "";
}

export function nodePlace(): BenchPlace {
  return {
    async run(options, { onRow, onLeftOut }) {
      // Peers wait as the binding lets them; a run's step waits as in a run.
      const device = await openNodeDevice({ patient: options.suite === "step" });
      try {
        const { description, vendor } = device.report;
        if (options.ort) onLeftOut("onnxruntime-web", "its WebGPU provider starts in browsers only");
        const place = {
          device,
          reopen: () => openAgain(openNodeDevice),
          adapter: description || vendor,
          where: "node" as const,
          clock: nodeClock(options.processorTime),
          jax: options.jax ? await openJax() : undefined,
          leftOut: onLeftOut,
          openPocket: nodePocket,
        };
        return await runSuite(options, place, onRow);
      } finally {
        device.close();
      }
    },
    first: async (task: FirstTask) =>
      Number(await childAnswer(join(root, "bench", "tool", "first-node.ts"), JSON.stringify(task))),
    close: async () => undefined,
  };
}
