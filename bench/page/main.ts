/**
 * The bench in a page: opens the device the way the lab does and runs a suite. The tool that opened the page calls
 * `runBench` or `runFirst` and receives every row as it is measured.
 */
import ortWasm from "onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm?url";
import { memorySource } from "../../src/engine/bytes/source.ts";
import { fetchBytes, fetchedFolder } from "../../src/engine/data/blob-source.ts";
import { decodeInBrowser } from "../../src/engine/data/image/decode-bitmap.ts";
import { decodeRle } from "../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../src/engine/data/region-set.ts";
import { LabError } from "../../src/engine/errors.ts";
import { type GpuReport, openAgain, openDevice } from "../../src/engine/gpu/runtime/device.ts";
import { loadWordnet } from "../../src/engine/rewards/wordnet.ts";
import { rowList } from "../../src/engine/runs/run-rows.ts";
import { openJax } from "../baselines/jax.ts";
import { openOrt } from "../baselines/ort.ts";
import type { BenchOptions } from "../context.ts";
import type { Pocket } from "../pocket.ts";
import type { BenchRow } from "../row.ts";
import { runSuite, type SuiteEnd } from "../run-suite.ts";
import { type FirstTask, firstStep } from "../suites/first.ts";
import { type Clock, wallClock } from "../turns.ts";

/** Values that the tool sets in the page, and functions that it calls. */
interface Bridge {
  benchRow(row: BenchRow): Promise<void>;
  benchLeftOut(what: string, why: string): Promise<void>;
  /** Processor milliseconds of the browser so far. */
  benchClock(): Promise<number>;
  runBench(options: BenchOptions): Promise<SuiteEnd>;
  runFirst(task: FirstTask): Promise<number>;
}
const bridge = globalThis as unknown as Bridge;

const open = () => openDevice(navigator.gpu);
const at = (path: string): string => new URL(path, globalThis.location.href).href;
const clockOf = (processorTime: boolean): Clock => (processorTime ? () => bridge.benchClock() : wallClock);

async function openPocket(): Promise<Pocket> {
  const set = await openRegionSet(await fetchedFolder(at("pocket/shards/")));
  const words = at("wordnet/wordnet30.txt");
  return {
    list: rowList("pocket", set.summaries),
    rows: async (index) => {
      const sample = await set.sample(index);
      const summary = set.summaries[index];
      if (summary === undefined) throw new LabError("internal", `There is no row ${index}`);
      return { summary, rgb: await decodeInBrowser(sample.image), mask: decodeRle(sample.mask) };
    },
    wordnet: await loadWordnet(memorySource(words, await fetchBytes(words))),
    model: await fetchedFolder(at("pocket/model/")),
  };
}

/** SwiftShader has no half precision, so an adapter with half precision is the driver that replaced it. */
function adapterOf({ description, vendor, architecture, features }: GpuReport, disguised: string | null): string {
  if (disguised === null) return description || `${vendor} ${architecture}`.trim();
  if (features.includes("shader-f16")) return disguised;
  throw new LabError("gpu", `The browser runs on its own SwiftShader, not on ${disguised}`);
}

bridge.runBench = async (options) => {
  const device = await open();
  try {
    const place = {
      device,
      reopen: () => openAgain(open),
      adapter: adapterOf(device.report, options.disguised),
      where: "chromium" as const,
      clock: clockOf(options.processorTime),
      jax: options.jax ? await openJax() : undefined,
      ort: options.ort ? await openOrt(await import("onnxruntime-web/webgpu"), ortWasm) : undefined,
      leftOut: (what: string, why: string) => void bridge.benchLeftOut(what, why),
      openPocket,
    };
    return await runSuite(options, place, (row) => bridge.benchRow(row));
  } finally {
    device.close();
  }
};

bridge.runFirst = (task) => firstStep(task, { open, openPocket, clock: clockOf(task.processorTime) });
