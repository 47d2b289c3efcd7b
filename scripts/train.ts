/**
 * Trains without a page: the same engine in Node on Dawn.
 *
 *   npm run train -- [--shards DIR…] [--model DIR | --checkpoint ADDRESS] [--hub URL] [--preset NAME] [--steps N] [--seed S] [--mode rl|sft]
 *                    [--loops both|1|2|3] [--config FILE [--skip-unknown]] [--set NAME=VALUE]… [--save-steps N] [--eval-steps N] [--eval-rows N] [--adapter DIR] [--captioner DIR]
 *                    [--first-evaluation RUN] [--difficulty FILE] [--tuned FILE] [--resume RUN] [--judge URL] [--judge-model NAME] [--judge-kind questions|dlc]
 *                    [--judge-questions FILE] [--allow-judge ORIGIN] [--allow-custom-reward] [--storage KIND] [--tower-storage KIND] [--cache DIR] --out DIR [--json]
 *
 * --resume continues a run with its own settings: --steps then sets the total length, and any other given setting must
 * equal the run's. A judge or custom reward from a file or a resumed run is used only if the command line names it or
 * allows it with --allow-judge ORIGIN or --allow-custom-reward.
 * --first-evaluation copies the evaluation of the start from a run folder with the same start; the two may differ only
 * in seed and in settings of the update. --difficulty reads the difficulty of rows measured by
 * scripts/diagnose-reward.ts --keep FILE, for the settings curriculum and zeroSpreadRows. --tuned reads measured
 * kernel forms from a file of `npm run tune`; --cache finds those stored for this adapter. A run keeps its table and
 * resumes with it. --captioner is an adapter folder, or a checkpoint of another run on the same model; with
 * likelihoodJudge=adapter it computes the terms likelihood and contrast.
 * --set sets any setting of docs/settings.md, also under its name in TRL or the design notes, and overrides flags and
 * file. Such a name is also an option (--kl_coef 0.1). Unless --eval-steps, --eval-rows or --config set other values,
 * at least 64 held-out rows are evaluated at the start, about five times during the run at steps with a checkpoint,
 * and at the end; --eval-steps 0 turns this off.
 * The judge's key is read from the environment variable JUDGE_API_KEY. It is sent only to the origin in
 * JUDGE_API_KEY_ORIGIN, or else to the judge that --judge or --set judgeUrl names. --cache stores converted
 * checkpoints and, within the setting featureDisk, frozen features in DIR.
 */
import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { SETTING_KEYS } from "../src/engine/config/parse.ts";
import { PRESETS } from "../src/engine/config/presets.ts";
import type { LabConfig } from "../src/engine/config/table.ts";
import { badInput, LabError, quote } from "../src/engine/errors.ts";
import { openAgain } from "../src/engine/gpu/runtime/device.ts";
import { ModelCache } from "../src/engine/loading/model-cache.ts";
import { storageChoice, storageText } from "../src/engine/loading/storage-settings.ts";
import { rewardScorer } from "../src/engine/rewards/scorer.ts";
import { heldText } from "../src/engine/rl/run/events.ts";
import type { AskedRun } from "../src/engine/rl/run/start/prepare-run.ts";
import { parseDifficulty } from "../src/engine/runs/difficulty.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import { ownSettings } from "../src/engine/runs/run-parts.ts";
import type { RowList } from "../src/engine/runs/run-rows.ts";
import { Session } from "../src/engine/session/session.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import { parseTable } from "../src/engine/tuning/table.ts";
import { storedFirstEvaluation, takenOver } from "../src/plugins/sweep/first-evaluation.ts";
import { one, type Parsed, parseArguments, runTool } from "./lib/arguments.ts";
import {
  CHECKPOINT_OPTIONS,
  checkpointText,
  localCheckpoint,
  remoteCheckpoint,
  requireHub,
} from "./lib/checkpoint-source.ts";
import { loadingLine } from "./lib/loading-line.ts";
import { commandLineConsent, type NodeConsent, requireConsent } from "./lib/node/node-consent.ts";
import { nodeFolder, readTextFile } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { JUDGE_OPTIONS, nodeJudgeHost } from "./lib/node/node-judge.ts";
import { nodeWordnet, openNodeRows, POCKET_MODEL, presetModel } from "./lib/node/node-rows.ts";
import { nodeUserRewards } from "./lib/node/node-sandbox.ts";
import { nodeStore } from "./lib/node/node-store.ts";
import { chosenSettings, knownWords, SETTINGS_OPTIONS } from "./lib/settings-flags.ts";
import { evalLine, stepLine } from "./lib/step-line.ts";
import { onStopSignal } from "./lib/stop-signal.ts";

const OPTIONS = {
  ...SETTINGS_OPTIONS,
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
  captioner: { takes: 1 },
  "first-evaluation": { takes: 1 },
  difficulty: { takes: 1 },
  tuned: { takes: 1 },
  "eval-rows": { takes: 1 },
  resume: { takes: 1 },
  out: { takes: 1 },
  json: { takes: 0 },
  ...CHECKPOINT_OPTIONS,
  ...JUDGE_OPTIONS,
} as const;

/** Default number of evaluations after the first, and default number of their rows. */
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

/** Steps between evaluations: at checkpoints where there are any, because only those can be the best. */
function evaluationInterval({ steps, saveSteps }: LabConfig): number {
  const interval = Math.ceil(steps / EVALUATIONS);
  return saveSteps === 0 ? interval : Math.ceil(interval / saveSteps) * saveSteps;
}

interface Task {
  readonly config: LabConfig;
  /** The run to continue, and its new length if given; undefined for a new run. */
  readonly resume: { readonly id: string; readonly steps: number | undefined } | undefined;
  /** Folder of the pocket model that is trained where the command line names no model. */
  readonly pocket: string;
}

/** @throws LabError naming the option or file that does not fit, before anything is loaded, sent or run */
async function taskOf(
  parsed: Parsed,
  store: RunStore,
  consent: NodeConsent,
  say: (sentence: string) => void,
): Promise<Task> {
  const { config, given, preset } = chosenSettings(parsed, FLAGS, say);
  const id = resumedRun(parsed);
  if (id !== undefined) {
    if (!(await store.names("")).includes(id)) {
      throw badInput(`--out has no run ${quote(id)}; --resume takes the name of a run folder in it`, "resume");
    }
    const manifest = (await openRun(store, id)).manifest();
    const { title, model } = manifest;
    const own = ownSettings(manifest);
    refuseOtherSettings(parsed, given, own);
    await requireConsent(own, consent, `Run ${quote(title)}`, say);
    requireHub(parsed, own.hub, `Run ${quote(title)}`);
    const trained = PRESETS.find(({ pocketModel }) => pocketModel === model.name);
    return {
      config: { ...own, hub: given.hub ?? own.hub },
      resume: { id, steps: given.steps },
      pocket: trained === undefined ? POCKET_MODEL : presetModel(trained.name),
    };
  }
  const from = one(parsed, "config") ?? "The command line";
  await requireConsent(config, consent, from, say);
  requireHub(parsed, config.hub, from);
  return {
    config: {
      ...config,
      evalSteps: given.evalSteps ?? evaluationInterval(config),
      evalRows: given.evalRows ?? Math.max(EVALUATED_ROWS, config.evalRows),
    },
    resume: undefined,
    pocket: presetModel(preset),
  };
}

/** Name of the run to continue; its path below --out counts too, because a shell completes it. */
function resumedRun(parsed: Parsed): string | undefined {
  const named = one(parsed, "resume")?.replace(/\/+$/, "");
  const out = one(parsed, "out");
  if (named === undefined || out === undefined || resolve(dirname(named)) !== resolve(out)) return named;
  return basename(named);
}

/** A continued run keeps its settings, so another value on the command line is refused instead of ignored. */
function refuseOtherSettings(parsed: Parsed, given: Partial<LabConfig>, own: LabConfig): void {
  for (const option of ["preset", "adapter", "captioner", "first-evaluation", "difficulty", "tuned"]) {
    if (!parsed.has(option)) continue;
    throw badInput(`--resume continues with the run's settings; leave --${option} out`, option);
  }
  const other = SETTING_KEYS.find(
    (key) => key !== "steps" && key !== "hub" && given[key] !== undefined && given[key] !== own[key],
  );
  if (other === undefined) return;
  throw new LabError(
    "bad-config",
    `--resume keeps the run's settings: ${other} is ${quote(own[other])} there, not ${quote(given[other])}; leave it out or start a new run`,
    { subject: other },
  );
}

/** The first evaluation of another run, if one is named. @throws LabError naming what that folder lacks */
async function firstEvaluation(parsed: Parsed): Promise<AskedRun["first"]> {
  const named = one(parsed, "first-evaluation");
  if (named === undefined) return undefined;
  const folder = resolve(named);
  if (!existsSync(join(folder, "run.json"))) {
    throw badInput(`--first-evaluation: ${named} holds no run.json`, "first-evaluation");
  }
  const first = await storedFirstEvaluation(nodeStore(dirname(folder)), basename(folder));
  return (own) => takenOver(first, own);
}

/** Measured difficulty of the rows, if a file is named. @throws LabError naming it */
function measured(parsed: Parsed): Pick<RowList, "difficulty"> {
  const file = one(parsed, "difficulty");
  return file === undefined ? {} : { difficulty: parseDifficulty(readTextFile(file), file) };
}

/** The stores that the page has in the browser: converted checkpoints and frozen features. */
function kept(path: string) {
  return {
    models: new ModelCache(nodeStore(join(path, "models"))),
    featureFiles: nodeStore(join(path, "features")),
    tables: nodeStore(join(path, "tables")),
  };
}

await runTool(async () => {
  const parsed = parseArguments(knownWords(process.argv.slice(2), OPTIONS), OPTIONS);
  const out = one(parsed, "out");
  if (out === undefined) throw badInput("--out DIR is needed", "out");
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const store = nodeStore(out);
  const consent = await commandLineConsent(parsed, process.env);
  const { config, resume, pocket } = await taskOf(parsed, store, consent, say);
  const [first, difficulty] = [await firstEvaluation(parsed), measured(parsed)];
  const address = checkpointText(parsed);
  const json = parsed.has("json");

  const { set, rows, list } = await openNodeRows(parsed.get("shards"));
  say(`${set.summaries.length} rows, ${set.skipped.length} skipped`);
  const device = await openNodeDevice();
  say(`${device.report.description || device.report.vendor}`);
  const wordnet = await nodeWordnet();
  const cachePath = one(parsed, "cache");
  let held: string | null = null;
  const user = nodeUserRewards(consent);
  const session = new Session({
    device,
    reopen: () => openAgain(openNodeDevice),
    store,
    ...(cachePath === undefined ? {} : kept(cachePath)),
    rows,
    scorer: rewardScorer({ wordnet, judgeHost: nodeJudgeHost(store, consent, say), user }),
    now: () => performance.now() / 1000,
    emit(event) {
      if (event.type === "step") process.stdout.write(`${stepLine(event, json)}\n`);
      if (event.type === "eval") process.stdout.write(`${evalLine(event, json)}\n`);
      if (event.type === "alarm") say(`step ${event.alarm.step}: ${event.alarm.message}`);
      if (event.type === "held") {
        // No user can continue it here, so the run ends as stopped and can be resumed.
        held = heldText(event);
        say(`step ${event.step}: ${held}`);
        session.trainer?.control.stop();
      }
      if (event.type === "checkpoint") say(`checkpoint at step ${event.step}, ${event.bytes} bytes`);
    },
  });
  try {
    const source =
      address === undefined
        ? await localCheckpoint(one(parsed, "model") ?? pocket)
        : await remoteCheckpoint(address, config.hub, say);
    const { model, cached, note } = await session.openModel(source.folder, source.name, {
      choice: storageChoice(config),
      keep: source.keep,
      onProgress: loadingLine(say),
    });
    say(`weights in ${storageText(model.storage)}${cached === "none" ? "" : `, conversion ${cached}`}`);
    if (note !== undefined) say(note);
    const tuned = one(parsed, "tuned");
    if (tuned !== undefined) {
      const text = readTextFile(tuned);
      const { entries, of } = parseTable(text, tuned);
      await session.forms.take(text, tuned);
      say(`${entries.length} forms from ${tuned}, measured on ${of.description || of.vendor}`);
    }
    const adapterPath = one(parsed, "adapter");
    if (adapterPath !== undefined) {
      const { rank, scale, modules } = await session.openAdapter(await nodeFolder(adapterPath), basename(adapterPath));
      say(`starts from ${adapterPath}: rank ${rank}, scale ${scale}, ${modules} further tensors`);
    }
    const captionerPath = one(parsed, "captioner");
    if (captionerPath !== undefined) {
      const { hash } = await session.openAdapter(await nodeFolder(captionerPath), basename(captionerPath), "captioner");
      say(`likelihoods come from another checkpoint, ${captionerPath} (${hash.slice(0, 12)})`);
    }
    const created = new Date().toISOString();
    const run =
      resume === undefined
        ? await session.start({
            settings: config,
            list: { ...list, ...difficulty },
            title: one(parsed, "preset") ?? "demo",
            created,
            first,
          })
        : await session.resume(resume.id, list, resume.steps);
    say(`run ${run.manifest.id}, ${run.trainRows} training rows, from step ${run.resumedAt}`);
    const stop = (): void => session.trainer?.control.stop();
    const leave = onStopSignal(stop, "the current phase ends, then a checkpoint is saved");
    await run.done;
    leave();
  } finally {
    session.dispose();
    user.close();
    device.close();
  }
  if (held !== null) throw new LabError("held", held);
  return 0;
});
