/**
 * npx tsx tests/scripts/true-shapes.ts [--storage f16|q8|q4] [--dir DIR] [--small]
 *
 * Makes a checkpoint with the true shapes of Sa2VA-1B, loads it through the page's path with host memory measured, loads
 * it again from its kept conversion, and compares forward passes at true width with stock operations. Everything it made
 * is deleted at the end. --small does the same with small sizes (that is what the tests run).
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { trueConfig, writeGoldenTokenizer, writeSynthetic } from "../../bench/made-up/checkpoint.ts";
import { one, parseArguments, runTool } from "../../scripts/lib/arguments.ts";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { badInput } from "../../src/engine/errors.ts";
import { WEIGHT_STORAGES } from "../../src/engine/gpu/packed/storage.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { ModelCache } from "../../src/engine/loading/model-cache.ts";
import { convertedBytes, type OpenedModel, openModelFolder } from "../../src/engine/loading/open-model.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { compareForward } from "./compare-forward.ts";

const OPTIONS = { storage: { takes: 1 }, dir: { takes: 1 }, small: { takes: 0 } } as const;
const MEGA = 1e6;

/** Runs `work` and the largest resident size of the process meanwhile, in bytes. */
async function watched<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly peak: number; readonly seconds: number }> {
  let peak = process.memoryUsage().rss;
  const look = (): void => {
    peak = Math.max(peak, process.memoryUsage().rss);
  };
  const timer = setInterval(look, 20);
  const start = performance.now();
  try {
    const value = await work();
    look();
    return { value, peak, seconds: (performance.now() - start) / 1000 };
  } finally {
    clearInterval(timer);
  }
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const wanted = one(parsed, "storage") ?? "f16";
  const storage = WEIGHT_STORAGES.find((known) => known === wanted && known !== "f32");
  if (storage === undefined) throw badInput(`--storage must be f16, q8 or q4, not "${wanted}"`);
  const small = parsed.has("small");
  const directory = one(parsed, "dir") ?? "out/true-shapes";
  const say = (row: Record<string, unknown>): void => console.log(JSON.stringify(row));
  let missed = 0;
  try {
    const model = join(directory, "model");
    const written = writeSynthetic(model, trueConfig(small ? "small" : "1B"), small ? 200_000 : 1_000_000_000);
    writeGoldenTokenizer(model);
    say({ made: { ...written, megabytes: written.bytes / MEGA } });
    const device = await openNodeDevice();
    const folder = await nodeFolder(model);
    const choice = { language: storage, towers: storage };
    const cache = new ModelCache(nodeStore(join(directory, "cache")));
    const forecast = convertedBytes(await openCheckpoint(folder), choice);
    const load = async (what: string): Promise<OpenedModel> => {
      const [rss, held] = [process.memoryUsage().rss, memorySnapshot().gpuBytes];
      const { value, peak, seconds } = await watched(() => openModelFolder(folder, "true shapes", { choice, cache }));
      device.check();
      const result = memorySnapshot().gpuBytes - held;
      const beyond = (peak - rss - (device.report.software ? result : 0)) / MEGA;
      say({
        load: what,
        cached: value.cached,
        seconds,
        gpuMegabytes: result / MEGA,
        forecastMegabytes: forecast / MEGA,
        hostMegabytesBeyond: beyond,
      });
      if (result !== forecast) missed++;
      if (beyond > 600) missed++;
      return value;
    };
    (await load("from the folder")).model.dispose();
    const { model: loaded } = await load("from the kept conversion");
    for await (const row of compareForward(loaded, folder, storage)) {
      device.check();
      if (!row.pass) missed++;
      say({ ...row });
    }
    loaded.dispose();
    device.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  say({ missed });
  return missed === 0 ? 0 : 1;
});
