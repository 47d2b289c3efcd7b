/**
 * Writes a pocket model that only names what it sees ("a book"), as a start from which loop 1 can learn to say which
 * one. The language adapters alone are trained on rows whose captions are mostly the bare noun, and merged; masks,
 * projector and towers stay as they are.
 *
 *   npx tsx scripts/vague-pocket.ts --out DIR [--model DIR] [--shards DIR…] [--bare SHARE] [--steps N] [--rate R] [--seed S]
 *
 * --bare is the share of training rows whose caption becomes the noun of their category with an article. With 1 no
 * caption of the training names a colour, a size or a place.
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { presetConfig } from "../src/engine/config/presets.ts";
import type { RegionSummary } from "../src/engine/data/sample.ts";
import { badInput } from "../src/engine/errors.ts";
import { mergedFiles } from "../src/engine/export/merged.ts";
import { STREAM, uniform } from "../src/engine/gpu/random.ts";
import { readTrained } from "../src/engine/runs/checkpoint/trained.ts";
import { rowList } from "../src/engine/runs/run-rows.ts";
import { memoryStore } from "../src/engine/storage/memory-store.ts";
import { article } from "../tools/pocket/world/kinds.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { writeFileList } from "./lib/build/file-list.ts";
import { nodeFolder } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { openNodeRows, POCKET_MODEL } from "./lib/node/node-rows.ts";
import { nodeSession } from "./lib/node/node-session.ts";
import { writeOut } from "./lib/out-folder.ts";
import { evalLine } from "./lib/step-line.ts";

/** Only the caption's cross-entropy moves anything, and it moves the language adapters alone. */
const ADAPTERS_ALONE = { sftBceWeight: 0, sftDiceWeight: 0, maskRateFactor: 0, projectorRateFactor: 0 } as const;

/** The row with the bare noun of its category as its caption, or as it is. */
function vague(summary: RegionSummary, share: number, seed: number): RegionSummary {
  const noun = summary.category[0];
  const draw = uniform({ seed, step: 0, loop: 0, row: summary.index, rollout: 0, stream: STREAM.mask, position: 0 });
  return noun === undefined || draw >= share ? summary : { ...summary, caption: `${article(noun)} ${noun}` };
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), {
    out: { takes: 1 },
    model: { takes: 1 },
    shards: { takes: "many" },
    bare: { takes: 1 },
    steps: { takes: 1 },
    rate: { takes: 1 },
    seed: { takes: 1 },
  });
  const named = one(parsed, "out");
  if (named === undefined) throw badInput("--out DIR is needed", "out");
  const out = resolve(named);
  if (existsSync(out)) throw badInput(`${named} exists already; nothing was written`, "out");
  const bare = Number(one(parsed, "bare") ?? 0.75);
  const rate = Number(one(parsed, "rate") ?? 6e-4);
  if (!(bare > 0 && bare <= 1)) throw badInput("--bare must be a share above 0 and up to 1", "bare");
  if (!(rate > 0)) throw badInput("--rate must be a number above 0", "rate");
  const steps = whole(parsed, "steps", 1, 100_000, 60);
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, 41);

  const { set, rows, list } = await openNodeRows(parsed.get("shards"));
  const summaries = set.summaries.map((summary) => vague(summary, bare, seed));
  const device = await openNodeDevice();
  const store = memoryStore();
  const session = await nodeSession(device, {
    store,
    rows: async (index) => ({ ...(await rows(index)), summary: summaries[index] as RegionSummary }),
    emit(event) {
      if (event.type === "eval") process.stdout.write(`${evalLine(event, false)}\n`);
    },
  });
  try {
    const base = await nodeFolder(one(parsed, "model") ?? POCKET_MODEL);
    await session.openModel(base, "pocket");
    const run = await session.start({
      settings: {
        ...presetConfig("sft"),
        ...ADAPTERS_ALONE,
        learningRate: rate,
        steps,
        seed,
        saveSteps: steps,
        evalSteps: steps,
        evalRows: 64,
      },
      list: rowList(list.dataSet, summaries),
      title: "vague",
      created: new Date(0).toISOString(),
    });
    await run.done;
    const trained = await readTrained(store, run.manifest.id, null, "policy");
    await writeOut(out, (folder) => folder.add(mergedFiles(base, trained, { dtype: "F16" })));
    writeFileList(out);
  } finally {
    session.dispose();
    device.close();
  }
  process.stdout.write(`Written to ${out} after ${steps} steps\n`);
  return 0;
});
