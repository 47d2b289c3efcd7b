/**
 * npm run eval -- --suite NAME --data DIR… [--model DIR] [--adapter DIR] [--split NAME] [--part all|selection|report] [--rows N] [--answers free|forced]
 *                 [--decoder published|consistent|alone] [--choose first|uniform|every:K] [--frames N]
 *                 [--max-tokens N] [--judge URL [--judge-model NAME] [--judge-pictures] | --replies FILE] [--similarity FILE] --out DIR [--json]
 * npm run eval -- --ledger DIR… [--out FILE.csv|FILE.parquet]
 *
 * Scores a model, and with --adapter also the model with the adapter, on the same rows, with the counting rules of the
 * published evaluation programs. The suites are those of src/plugins/suites; suites of clips (vos, refytvos,
 * mevis, revos, refdavis, refsav) take the decoder and frames of npm run masklets.
 * Answers are greedy: `free` asks the published question and takes the mask of every [SEG] in the answer, `forced`
 * appends [SEG] itself. --out keeps every answer, so an interrupted evaluation continues; report.json has the scores
 * with intervals over pictures, and published numbers with their sources.
 * A judge scores the captions of dlc and gar: an OpenAI-compatible server, or replies stored with their captions.
 * --judge-pictures also sends the pictures that the published judge sees: the picture with the mask (dlc), or crops
 * around each mask (gar). --similarity names a file with similarities of phrases, for gcg.
 * --part evaluates only the pictures that choose among checkpoints, or only those that report the chosen one; the
 * report counts the evaluations of the same rows beside --out. --ledger writes finished evaluations of the same rows,
 * and all held-out evaluations of run folders, as one CSV or Parquet table, rows with the largest spread first. Exit
 * 2: a bad argument or input.
 */

import { basename, dirname, resolve } from "node:path";
import { isRecord, parseJson } from "../src/engine/bytes/json.ts";
import { badInput, LabError } from "../src/engine/errors.ts";
import { openModelFolder } from "../src/engine/loading/open-model.ts";
import { adapterTarget, readStartAdapter } from "../src/engine/model/adapter/start-adapter.ts";
import { Meteor } from "../src/engine/rewards/meteor/meteor.ts";
import { tryFeatures } from "../src/engine/session/session.ts";
import { memoryStore } from "../src/engine/storage/memory-store.ts";
import { type FollowSettings, followExpressions } from "../src/plugins/clips/follow.ts";
import { videoShapes } from "../src/plugins/clips/sam2/video-shapes.ts";
import type { Clip } from "../src/plugins/data-sets/clip-set.ts";
import { SUITES, suiteOf } from "../src/plugins/suites/all.ts";
import { looksAt } from "../src/plugins/suites/finished.ts";
import { openEvalFolder, suiteRowsHash } from "../src/plugins/suites/folder.ts";
import { judgePictures } from "../src/plugins/suites/judge-pictures.ts";
import { SUITE_PARTS, type SuitePart, suitePart } from "../src/plugins/suites/part.ts";
import { looksText, type SuiteReport, suiteReport } from "../src/plugins/suites/report.ts";
import { answerRows, type SuiteWork, type System } from "../src/plugins/suites/run-suite.ts";
import type {
  AnswerMode,
  Suite,
  SuiteAnswer,
  SuiteItem,
  SuiteRows,
  SuiteTask,
  SuiteTools,
} from "../src/plugins/suites/suite.ts";
import { ANSWER_TOKENS, suiteAnswersOf, tryTaskOf } from "../src/plugins/suites/suite-ask.ts";
import { type TryContext, tryOut } from "../src/plugins/try-out/answer-question.ts";
import { weightsOf } from "../src/plugins/try-out/weights.ts";
import { one, type Parsed, parseArguments, refuseIdle, runTool, whole } from "./lib/arguments.ts";
import { localCheckpoint } from "./lib/checkpoint-source.ts";
import { clipPictures, framesMark } from "./lib/clip-run.ts";
import { FOLLOW_OPTIONS, followOptions, followText, oneOf } from "./lib/follow-options.ts";
import { nodeFolder, nodeFolders, readTextFile } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { decodeImage } from "./lib/node/node-images.ts";
import { nodeWordnet, POCKET_MODEL } from "./lib/node/node-rows.ts";
import { nodeStore } from "./lib/node/node-store.ts";
import { evalLedger, evaluationsBeside } from "./lib/scores/eval-ledger.ts";
import { judgeRows, suiteJudge } from "./lib/scores/suite-judge.ts";
import { intervalJson } from "./lib/step-line.ts";
import { onStopSignal } from "./lib/stop-signal.ts";

const OPTIONS = {
  suite: { takes: 1 },
  data: { takes: "many" },
  model: { takes: 1 },
  adapter: { takes: 1 },
  split: { takes: 1 },
  part: { takes: 1 },
  rows: { takes: 1 },
  answers: { takes: 1 },
  "max-tokens": { takes: 1 },
  replies: { takes: 1 },
  similarity: { takes: 1 },
  ledger: { takes: "many" },
  out: { takes: 1 },
  json: { takes: 0 },
  // The suite has its own questions, so other judge options would have no effect.
  judge: { takes: 1 },
  "judge-model": { takes: 1 },
  "judge-pictures": { takes: 0 },
  ...FOLLOW_OPTIONS,
} as const;

/** @throws LabError("bad-input") for an option that has no effect on these rows */
function requireUsed(parsed: Parsed, { name, split, judged, similarity }: Suite, { clip }: SuiteRows): void {
  const idle = [
    ...(clip === undefined ? Object.keys(FOLLOW_OPTIONS) : []),
    ...(split === undefined ? ["split"] : []),
    ...(judged ? [] : ["judge", "judge-model", "judge-pictures", "replies"]),
    ...(similarity === true ? [] : ["similarity"]),
  ];
  refuseIdle(parsed, idle, `on suite ${name}`);
  if (parsed.has("replies")) refuseIdle(parsed, ["judge", "judge-model", "judge-pictures"], "beside --replies");
  if (!parsed.has("judge")) refuseIdle(parsed, ["judge-model", "judge-pictures"], "without --judge");
}

/** Maximum number of printed reasons why rows are left out. */
const SAID = 20;

interface Options {
  readonly suite: Suite;
  readonly data: readonly string[];
  readonly split: string | undefined;
  readonly part: SuitePart;
  readonly mode: AnswerMode;
  readonly follow: FollowSettings;
  readonly out: string;
}

function readOptions(parsed: Parsed): Options {
  const suite = suiteOf(one(parsed, "suite") ?? "");
  const names = SUITES.map((known) => known.name).join(", ");
  if (suite === undefined) throw badInput(`--suite must be one of ${names}`, "suite");
  const data = parsed.get("data");
  if (data === undefined) throw badInput("--data DIR is needed", "data");
  const out = one(parsed, "out");
  if (out === undefined) throw badInput("--out DIR is needed", "out");
  const mode = oneOf(parsed, "answers", ["free", "forced"]);
  const split = one(parsed, "split") ?? (suite.split || undefined);
  const part = oneOf(parsed, "part", SUITE_PARTS);
  const maxCompletionLength = whole(parsed, "max-tokens", 1, 4096, ANSWER_TOKENS);
  return {
    suite,
    data,
    split,
    part,
    mode,
    follow: { ...followOptions(parsed), answers: mode, maxCompletionLength },
    out,
  };
}

/** METEOR and, from a file `{"name": "…", "values": {"label|phrase": 0.7, …}}`, similarities of phrases. */
async function suiteTools(file: string | undefined): Promise<SuiteTools> {
  const scorer = new Meteor(await nodeWordnet());
  const meteor = (reference: string, caption: string): number => scorer.score(reference, caption).score;
  if (file === undefined) return { meteor };
  const value = parseJson(readTextFile(file), file);
  if (!isRecord(value) || typeof value.name !== "string" || !isRecord(value.values)) {
    throw badInput(`${file} must have "name" and "values"`, file);
  }
  const { name, values } = value;
  const of = (label: string, phrase: string): number => {
    const found = values[`${label}|${phrase}`];
    if (typeof found === "number") return found;
    throw badInput(`${file} has no similarity of "${label}|${phrase}"`, file);
  };
  return { meteor, similarity: { name, of } };
}

/**
 * The pictures of each row that a judge receives.
 * @throws LabError("bad-input") for a suite whose judge reads captions only
 */
function shownTo(
  { name, judgeSees }: Suite,
  items: readonly SuiteItem[],
  { picture }: SuiteRows,
): (item: SuiteItem) => Promise<readonly string[]> {
  if (judgeSees === undefined)
    throw badInput(`--judge-pictures: the judge of suite ${name} does not take pictures`, name);
  return async (item) => {
    const image = await picture(items.indexOf(item));
    return judgePictures(judgeSees, image, await decodeImage(image), item.masks);
  };
}

/** A masklet for each task about a clip. */
async function followTasks(
  context: TryContext,
  from: System,
  clip: Clip,
  tasks: readonly SuiteTask[],
  settings: FollowSettings,
): Promise<SuiteAnswer[]> {
  const pictures = await clipPictures(clip);
  const { weights, dispose } = await weightsOf(context, { from });
  const answers: SuiteAnswer[] = [];
  try {
    for (const task of tasks) {
      if (task.kind !== "follow") throw new LabError("internal", "A question for pictures was asked about a clip");
      const { model, signal } = context;
      const found = await followExpressions({ model, weights, pictures, signal }, [task.phrase], settings);
      answers.push({ text: found.answers[0] as string, masks: found.masklets[0] ?? [] });
    }
  } finally {
    dispose();
  }
  return answers;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const finished = parsed.get("ledger");
  if (finished !== undefined) {
    const others = [...parsed.keys()].filter((name) => name !== "ledger" && name !== "out");
    refuseIdle(parsed, others, "beside --ledger");
    process.stdout.write(await evalLedger(finished, one(parsed, "out")));
    return 0;
  }
  const options = readOptions(parsed);
  const { suite, split, part, mode } = options;
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const opened = suitePart(await suite.open(await nodeFolders(options.data), split), part);
  requireUsed(parsed, suite, opened);
  const items = opened.items.slice(0, whole(parsed, "rows", 1, 1e9, Math.max(1, opened.items.length)));
  if (items.length === 0) {
    const why = opened.leftOut[0] === undefined ? "" : `: ${opened.leftOut[0]}`;
    const where = split === undefined ? "" : ` in split ${split}`;
    throw badInput(`--data has no row that can be scored${where}${why}`);
  }
  say(`${items.length} rows${opened.leftOut.length === 0 ? "" : "; left out:"}`);
  for (const sentence of opened.leftOut.slice(0, SAID)) say(`  ${sentence}`);
  if (opened.leftOut.length > SAID) say(`  and ${opened.leftOut.length - SAID} more reasons`);
  const tools = await suiteTools(one(parsed, "similarity"));
  const pictures = parsed.has("judge-pictures") ? shownTo(suite, items, opened) : undefined;
  const judge = suite.judged ? await suiteJudge(parsed, items, options.out, say, pictures) : undefined;
  const device = await openNodeDevice();
  const checkpoint = await localCheckpoint(one(parsed, "model") ?? POCKET_MODEL);
  const { model, hash } = await openModelFolder(checkpoint.folder, checkpoint.name, {
    video: opened.clip !== undefined && options.follow.decoder !== "alone" ? videoShapes : undefined,
  });
  const path = one(parsed, "adapter");
  const adapter =
    path === undefined
      ? undefined
      : await readStartAdapter(await nodeFolder(path), adapterTarget(model), basename(resolve(path)));
  const stop = new AbortController();
  const leave = onStopSignal(() => stop.abort());
  const { signal } = stop;
  const context: TryContext = {
    model,
    hash,
    adapters: { start: adapter },
    live: undefined,
    store: memoryStore(),
    features: tryFeatures(model, model.tiling.maxTiles),
    onPhase: () => undefined,
    signal,
  };
  const facts = {
    suite: suite.name,
    split: split ?? null,
    ...(part === "all" ? {} : { part }),
    answers: mode,
    ...(options.follow.maxCompletionLength === ANSWER_TOKENS ? {} : { maxTokens: options.follow.maxCompletionLength }),
    ...(opened.clip === undefined ? {} : { follow: followText(options.follow) }),
    model: { name: checkpoint.name, hash },
    adapter: adapter === undefined ? null : { name: adapter.name, hash: adapter.hash },
    rows: items.length,
    rowsHash: await suiteRowsHash(suite, items, (at) => {
      const clip = opened.clip?.(at);
      return clip === undefined ? "" : framesMark(clip);
    }),
  };
  const folder = await openEvalFolder(nodeStore(dirname(resolve(options.out))), basename(resolve(options.out)), facts);
  const systems: readonly System[] = adapter === undefined ? ["base"] : ["base", "adapter"];
  await folder.items(items);
  const work: SuiteWork = {
    suite,
    items,
    mode,
    systems,
    answers: folder.answers,
    ask: async (system, index, tasks) => {
      const clip = opened.clip?.(index);
      if (clip !== undefined) return await followTasks(context, system, clip, tasks, options.follow);
      const rgb = await decodeImage(await opened.picture(index));
      const task = tryTaskOf(tasks, options.follow.maxCompletionLength);
      const answer = await tryOut(context, { id: (items[index] as SuiteItem).imageId, rgb }, task, { from: system });
      device.check();
      return suiteAnswersOf(answer);
    },
    keep: (rows) => folder.add(rows),
    onProgress: (done) => say(`${done} of ${items.length} rows`),
    signal,
  };
  try {
    await answerRows(work);
    if (judge !== undefined) await judgeRows(judge, folder, items, systems, signal);
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new LabError("cancelled", "The evaluation was interrupted; run the same command again to continue", {
      cause,
    });
  }
  leave();
  const looks = looksAt(facts, basename(resolve(options.out)), await evaluationsBeside(options.out));
  const report = suiteReport(
    { suite, split, part, looks, mode, items, leftOut: opened.leftOut.length, systems, judge: judge?.name ?? null },
    folder.answers,
    tools,
  );
  await folder.report(report);
  if (parsed.has("json")) process.stdout.write(`${intervalJson({ kind: "report", ...report })}\n`);
  else process.stdout.write(reportText(report));
  model.dispose();
  device.close();
  return 0;
});

function reportText(report: SuiteReport): string {
  const { systems, difference, published, unjudged, judge } = report;
  const percent = (value: number): string => (100 * value).toFixed(2);
  const lines: string[] = [looksText(report)];
  for (const [name, scores] of [...Object.entries(systems), ["difference", difference ?? []] as const]) {
    for (const { metric, value, low, high } of scores) {
      const range = low === high ? "no interval" : `[${percent(low)}, ${percent(high)}]`;
      lines.push(`${name.padEnd(10)} ${metric.padEnd(20)} ${percent(value)}  ${range}`);
    }
  }
  for (const { model, metric, value, source } of published) {
    lines.push(`published  ${metric.padEnd(20)} ${value.toFixed(1)}  ${model}, ${source}`);
  }
  if (unjudged > 0) {
    const wait = `${unjudged} captions wait for a judge; name one with --judge or --replies`;
    const failed = `${unjudged} captions have no verdict of ${judge}; run the same command again to ask for them`;
    lines.push(
      `${judge === null ? wait : failed}${difference === null ? "" : "; both systems' scores are without these rows"}`,
    );
  }
  return `${lines.join("\n")}\n`;
}
