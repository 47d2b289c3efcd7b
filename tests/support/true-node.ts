/**
 * The way of a checkpoint under Node: open the folder, plan a step, describe a region and segment a phrase; with the time
 * and the most resident memory of the process in each part.
 */
import { basename } from "node:path";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { nodeSession } from "../../scripts/lib/node/node-session.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { encodeRle } from "../../src/engine/data/mask/rle.ts";
import { peakBytes } from "../../src/engine/gpu/runtime/counters.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { trimPool } from "../../src/engine/gpu/runtime/pool.ts";
import { uploadsDone } from "../../src/engine/gpu/runtime/program.ts";
import { storageChoice } from "../../src/engine/loading/storage-settings.ts";
import { forecast } from "../../src/engine/plan/fit.ts";
import { reachedLimits } from "../../src/engine/session/plan.ts";
import { askSession, type TryAnswer, type TryTask } from "../../src/plugins/try-out/answer-question.ts";
import { mostResident, WALK_SETTINGS, type WalkOptions, type WalkPart } from "./true-walk.ts";

export interface NodeWalk {
  readonly parts: readonly WalkPart[];
  /** Bytes of the weights on the GPU, and the forecast of them. */
  readonly weights: { readonly held: number; readonly forecast: number };
  /** Most bytes of buffers while it answered, weights included, and the plan of a step of these settings. */
  readonly peak: { readonly allocated: number; readonly planned: number };
  readonly answers: readonly TryAnswer[];
}

/** @throws LabError when the folder cannot be opened, or an answer cannot be computed */
export async function walkInNode({
  folder,
  settings,
  until,
  onPart,
}: Pick<WalkOptions, "folder" | "settings" | "until" | "onPart">): Promise<NodeWalk> {
  const config = requireConfig({ ...WALK_SETTINGS, ...settings }, presetConfig("real"), "true-node");
  const choice = storageChoice(config);
  const parts: WalkPart[] = [];
  const { set, rows } = await openNodeRows();
  const row = await rows(0);
  const device = await openNodeDevice();
  const session = await nodeSession(device, { rows });
  let last = performance.now();
  mostResident(process.pid);
  const ended = (what: string, said: string): void => {
    const seconds = (performance.now() - last) / 1000;
    parts.push({ what, seconds, megabytes: { node: mostResident(process.pid) ?? 0 }, said });
    onPart?.(parts.at(-1) as WalkPart);
    last = performance.now();
  };
  try {
    ended("device and rows", device.report.description);
    const { model } = await session.openModel(await nodeFolder(folder), basename(folder), { choice });
    trimPool();
    await uploadsDone();
    const held = memorySnapshot().gpuBytesAllocated;
    const pictures = set.summaries.map(({ height, width }) => ({ height, width }));
    const said = forecast(reachedLimits(model.config, pictures), config, choice, null, device.report.software);
    const weights = { held, forecast: said.weights.frozenBytes + said.weights.publishedBytes };
    ended("folder to model", `weights ${held} bytes, forecast ${weights.forecast}; plan of a step ${said.peak}`);
    const answers: TryAnswer[] = [];
    const { rgb, mask, summary } = row;
    const ask = async (what: string, task: TryTask): Promise<void> => {
      const asked = {
        picture: { id: summary.id, rgb },
        task,
        from: { from: "base" },
        maxTiles: config.maxTiles,
      } as const;
      answers.push(await askSession(session, asked, () => undefined, new AbortController().signal));
      ended(what, JSON.stringify(answers.at(-1)).slice(0, 80));
    };
    peakBytes();
    const region = encodeRle(mask, rgb.height, rgb.width);
    if (until === "ready") return { parts, weights, peak: { allocated: held, planned: said.peak }, answers };
    await ask("Describe", { kind: "describe", regions: [region], maxCompletionLength: config.maxCompletionLength });
    await ask("Segment", { kind: "segment", phrases: [summary.caption] });
    const allocated = peakBytes();
    await device.checkAll();
    return { parts, weights, peak: { allocated, planned: said.peak }, answers };
  } finally {
    session.dispose();
    device.close();
  }
}
