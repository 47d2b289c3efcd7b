/**
 * Estimates before training what a reward can teach: samples groups of rollouts from the starting weights, and prints
 * the correlation of each term with IoU inside groups, and how much more reward true masks, or the best sampled
 * captions, get than greedy ones.
 *
 *   npx tsx scripts/diagnose-reward.ts [--model DIR] [--shards DIR…] [--preset NAME] [--config FILE [--skip-unknown]] [--set NAME=VALUE]…
 *                                      [--loop K] [--rows N] [--keep FILE] [--json]
 *
 * --keep adds the difficulty of the rows to FILE, for `npm run train -- --difficulty FILE`.
 */
import { appendFileSync } from "node:fs";
import { badInput, LabError } from "../src/engine/errors.ts";
import { storageChoice } from "../src/engine/loading/storage-settings.ts";
import { isLoop, LOOP_IDS } from "../src/engine/rl/loops/abouts.ts";
import { difficultyText } from "../src/engine/runs/difficulty.ts";
import type { BenchGroup } from "../src/plugins/reward-bench/bench-group.ts";
import { measuredRows } from "../src/plugins/reward-bench/bench-group.ts";
import { diagnose } from "../src/plugins/reward-bench/diagnosis.ts";
import { benchFromStart } from "../src/plugins/reward-bench/sample-bench.ts";
import { one, parseArguments, requireWritable, runTool, whole } from "./lib/arguments.ts";
import { localCheckpoint } from "./lib/checkpoint-source.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { openNodeRows, presetModel } from "./lib/node/node-rows.ts";
import { nodeSession } from "./lib/node/node-session.ts";
import { chosenSettings, SETTINGS_OPTIONS } from "./lib/settings-flags.ts";

const OPTIONS = {
  ...SETTINGS_OPTIONS,
  model: { takes: 1 },
  shards: { takes: "many" },
  loop: { takes: 1 },
  rows: { takes: 1 },
  keep: { takes: 1 },
  json: { takes: 0 },
} as const;

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const { config, preset } = chosenSettings(parsed, [], say);
  if (config.judge !== "off" || config.userReward !== "") {
    throw new LabError("bad-config", "Judges and custom rewards cannot be used here; use the Rewards screen", {
      subject: "judge",
    });
  }
  const loop = whole(parsed, "loop", 1, Math.max(...LOOP_IDS), 2);
  if (!isLoop(loop)) throw badInput(`--loop must be one of ${LOOP_IDS.join(", ")}`, "loop");
  const file = one(parsed, "keep");
  if (file !== undefined) requireWritable(file);
  const { rows, list } = await openNodeRows(parsed.get("shards"));
  const count = Math.min(list.rows.length, whole(parsed, "rows", 2, 100_000, 64));
  const device = await openNodeDevice();
  const session = await nodeSession(device, { rows });
  try {
    const source = await localCheckpoint(one(parsed, "model") ?? presetModel(preset));
    await session.openModel(source.folder, source.name, { choice: storageChoice(config), keep: source.keep });
    const groups: BenchGroup[] = [];
    // Rows are spread over the shards, so that they come from many pictures.
    const indices = Array.from({ length: count }, (_, at) => Math.floor((at * list.rows.length) / count));
    const input = { indices, loops: [loop], onGroup: (group: BenchGroup) => groups.push(group) };
    const { signal } = new AbortController();
    await session.withLab("bench", (lab) => benchFromStart(lab, config, input, signal));
    if (file !== undefined) appendFileSync(file, difficultyText(measuredRows(groups)));
    const found = diagnose(groups);
    if (parsed.has("json")) process.stdout.write(`${JSON.stringify(found)}\n`);
    else {
      for (const { measure, withIou, low, high } of found.terms) {
        const numbers = [withIou, low, high].map((value) => value?.toFixed(2) ?? "–");
        process.stdout.write(`${measure} with IoU inside groups: ${numbers[0]} (${numbers[1]} to ${numbers[2]})\n`);
      }
      const { headroom } = found;
      if (headroom !== null) {
        const { iou, greedy, best, alike, groups } = headroom;
        const [own, other] = alike === null ? ["captions", "best sampled captions"] : ["masks", "true masks"];
        const same = alike === null ? "" : `; alike to the partner in ${Math.round(100 * alike)} %`;
        process.stdout.write(
          `greedy ${own}: IoU ${iou.toFixed(3)}, reward ${greedy.toFixed(3)}; ${other}: reward ${best.toFixed(3)}${same}, ${groups} groups\n`,
        );
      }
      process.stdout.write(`${found.expectation}\n`);
    }
  } finally {
    session.dispose();
    device.close();
  }
  return 0;
});
