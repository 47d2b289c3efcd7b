/**
 * Trains without a page: the same engine in Node on Dawn.
 *
 *   npm run train -- [--shards DIR…] [--model DIR | --checkpoint ADDRESS] [--hub URL] [--preset NAME] [--steps N] [--seed S] [--mode rl|sft]
 *                    [--loops both|1|2] [--config FILE] [--set NAME=VALUE]… [--save-steps N] [--eval-steps N] [--eval-rows N] [--adapter DIR]
 *                    [--resume RUN] [--judge URL] [--judge-model NAME] [--judge-kind questions|dlc]
 *                    [--judge-questions FILE] [--storage KIND] [--tower-storage KIND] [--cache DIR] --out DIR [--json]
 *
 * --resume goes on with the run's own settings; --steps then is its length in all from now on.
 * --set gives any setting of docs/settings.md, also under TRL's name, and wins over flags and file. Unless --eval-steps and --eval-rows or their namesakes in --config say otherwise, at least 64 held-out rows are scored
 * at the start, four times on the way and at the end; --eval-steps 0 turns that off. A judge's key is taken from the
 * environment variable JUDGE_API_KEY and goes nowhere but into requests to that judge. --cache keeps converted checkpoints
 * and, as far as the setting featureDisk allows, frozen features in DIR.
 */
import { basename, join } from "node:path";
import type { LabConfig } from "../src/engine/config/table.ts";
import { LabError } from "../src/engine/errors.ts";
import { openAgain } from "../src/engine/gpu/device.ts";
import { ModelCache } from "../src/engine/loading/model-cache.ts";
import { storageChoice, storageText } from "../src/engine/loading/storage-settings.ts";
import { rewardScorer } from "../src/engine/rewards/scorer.ts";
import { Session } from "../src/engine/rl/session.ts";
import { one, type Parsed, parseArguments, runTool } from "./lib/arguments.ts";
import { CHECKPOINT_OPTIONS, checkpointText, localCheckpoint, remoteCheckpoint } from "./lib/checkpoint-source.ts";
import { loadingLine } from "./lib/loading-line.ts";
import { nodeFolder } from "./lib/node-files.ts";
import { openNodeDevice } from "./lib/node-gpu.ts";
import { JUDGE_OPTIONS, nodeJudgeHost } from "./lib/node-judge.ts";
import { nodeWordnet, openNodeRows, POCKET_MODEL } from "./lib/node-rows.ts";
import { nodeUserRewards } from "./lib/node-sandbox.ts";
import { nodeStore } from "./lib/node-store.ts";
import { chosenSettings, SETTINGS_OPTIONS } from "./lib/settings-flags.ts";
import { evalLine, stepLine } from "./lib/step-line.ts";

const OPTIONS = {
  shards: { takes: "many" },
  model: { takes: 1 },
  steps: { takes: 1 },
  seed: { takes: 1 },
  mode: { takes: 1 },
  loops: { takes: 1 },
  "save-steps": { takes: 1 },
  "eval-steps": { takes: 1 },
  storage: { takes: 1 },
  "tower-storage": { takes: 1 },
  cache: { takes: 1 },
  adapter: { takes: 1 },
  "eval-rows": { takes: 1 },
  resume: { takes: 1 },
  out: { takes: 1 },
  json: { takes: 0 },
  ...SETTINGS_OPTIONS,
  ...CHECKPOINT_OPTIONS,
  ...JUDGE_OPTIONS,
} as const;

/** Evaluations after the first, and their rows, when nothing is said about them: there is no page that would wait. */
const EVALUATIONS = 5;
const EVALUATED_ROWS = 64;

const FLAGS = [
  ["steps", "steps"],
  ["seed", "seed"],
  ["mode", "mode"],
  ["loops", "loops"],
  ["save-steps", "saveSteps"],
  ["eval-steps", "evalSteps"],
  ["storage", "weightStorage"],
  ["tower-storage", "towerStorage"],
  ["eval-rows", "evalRows"],
  ["hub", "hub"],
] as const;

function configOf(parsed: Parsed, say: (sentence: string) => void): LabConfig {
  const { config, given } = chosenSettings(parsed, FLAGS, say);
  return {
    ...config,
    evalSteps: given.evalSteps ?? Math.ceil(config.steps / EVALUATIONS),
    evalRows: given.evalRows ?? Math.max(EVALUATED_ROWS, config.evalRows),
  };
}

/** What the page keeps in the browser's storage: converted checkpoints and frozen features. */
function kept(path: string) {
  return { models: new ModelCache(nodeStore(join(path, "models"))), features: nodeStore(join(path, "features")) };
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const out = one(parsed, "out");
  if (out === undefined) throw new LabError("bad-input", "--out DIR is needed", { subject: "out" });
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const config = configOf(parsed, say);
  const address = checkpointText(parsed);
  const json = parsed.has("json");

  const { set, rows, list } = await openNodeRows(parsed.get("shards"));
  say(`${set.summaries.length} rows, ${set.skipped.length} skipped`);
  const device = await openNodeDevice();
  say(`${device.report.description || device.report.vendor}`);
  const wordnet = await nodeWordnet();
  const store = nodeStore(out);
  const cachePath = one(parsed, "cache");
  let held: string | null = null;
  const user = nodeUserRewards();
  const session = new Session({
    device,
    reopen: () => openAgain(openNodeDevice),
    store,
    ...(cachePath === undefined ? {} : kept(cachePath)),
    rows,
    scorer: rewardScorer({ wordnet, judgeHost: nodeJudgeHost(store, say), user }),
    now: () => performance.now() / 1000,
    emit(event) {
      if (event.type === "step") process.stdout.write(`${stepLine(event, json)}\n`);
      if (event.type === "eval") process.stdout.write(`${evalLine(event.report, json)}\n`);
      if (event.type === "alarm") say(`step ${event.alarm.step}: ${event.alarm.message}`);
      if (event.type === "held") {
        // Nobody is there to press play: the run ends as a stopped one, which can be resumed.
        held = event.error.message;
        say(`step ${event.step}: ${held}`);
        session.trainer?.gate.stop();
      }
      if (event.type === "checkpoint") say(`checkpoint at step ${event.step}, ${event.bytes} bytes`);
    },
  });
  try {
    const source =
      address === undefined
        ? await localCheckpoint(one(parsed, "model") ?? POCKET_MODEL)
        : await remoteCheckpoint(address, config.hub, say);
    const { model, cached, note } = await session.openModel(source.folder, source.name, {
      choice: storageChoice(config),
      keep: source.keep,
      onProgress: loadingLine(say),
    });
    say(`weights in ${storageText(model.storage)}${cached === "none" ? "" : `, conversion ${cached}`}`);
    if (note !== undefined) say(note);
    const adapterPath = one(parsed, "adapter");
    if (adapterPath !== undefined) {
      const { rank, scale, modules } = await session.openAdapter(await nodeFolder(adapterPath), basename(adapterPath));
      say(`starts from ${adapterPath}: rank ${rank}, scale ${scale}, ${modules} further tensors`);
    }
    const resume = one(parsed, "resume");
    const created = new Date().toISOString();
    const run =
      resume === undefined
        ? await session.start(config, list, one(parsed, "preset") ?? "demo", created)
        : await session.resume(resume, list, parsed.has("steps") ? config.steps : undefined);
    say(`run ${run.manifest.id}, ${run.trainRows} training rows, from step ${run.resumedAt}`);
    const stop = (): void => session.trainer?.gate.stop();
    process.once("SIGINT", stop);
    await run.done;
    process.off("SIGINT", stop);
  } finally {
    session.dispose();
    user.close();
    device.close();
  }
  if (held !== null) throw new LabError("held", held);
  return 0;
});
