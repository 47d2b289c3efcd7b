/**
 * npm run eval -- --suite NAME --data DIR… [--model DIR] [--adapter DIR] [--split NAME] [--rows N] [--answers free|forced]
 *                 [--max-tokens N] --out DIR [--json]
 *
 * Scores a model, and with --adapter the model with it on the same rows, as the field's evaluation programs count.
 * Suites: refcoco, refcoco+, refcocog (refs beside their instances and pictures; --split val by default), masks and captions
 * (any rows). Answers are greedy: `free` asks the published question and takes the masks of every [SEG] of the answer,
 * `forced` puts the [SEG] itself. --out keeps every answer, so that an evaluation that was stopped goes on; report.json has
 * the scores with intervals over pictures and the published numbers with their sources. Exit 2: a bad argument or input.
 */

import { basename, resolve } from "node:path";
import type { Rle } from "../src/engine/data/mask/rle.ts";
import { rowsHash } from "../src/engine/data/open-rows.ts";
import type { RegionSummary, RgbImage } from "../src/engine/data/sample.ts";
import { LabError } from "../src/engine/errors.ts";
import { sentenceOverlap } from "../src/engine/eval/benchmarks/referring.ts";
import {
  type SuiteRow,
  type SuiteScore,
  suiteDifferences,
  suiteScores,
} from "../src/engine/eval/benchmarks/suite-scores.ts";
import { type PublishedScore, SUITES, type Suite } from "../src/engine/eval/benchmarks/suites.ts";
import { openModelFolder } from "../src/engine/loading/open-model.ts";
import { readStartAdapter } from "../src/engine/model/adapter/start-adapter.ts";
import { type TryContext, type TryTask, tryFeatures, tryOut } from "../src/engine/session/try-out.ts";
import { memoryStore } from "../src/engine/storage/memory-store.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { localCheckpoint } from "./lib/checkpoint-source.ts";
import { answerKey, openEvalFolder, type System } from "./lib/eval-folder.ts";
import { nodeFolder } from "./lib/node-files.ts";
import { openNodeDevice } from "./lib/node-gpu.ts";
import { openNodeRows, POCKET_MODEL } from "./lib/node-rows.ts";

const OPTIONS = {
  suite: { takes: 1 },
  data: { takes: "many" },
  model: { takes: 1 },
  adapter: { takes: 1 },
  split: { takes: 1 },
  rows: { takes: 1 },
  answers: { takes: 1 },
  "max-tokens": { takes: 1 },
  out: { takes: 1 },
  json: { takes: 0 },
} as const;

/** Sentences of one picture that are asked together where the mask is forced. */
const AT_ONCE = 8;
const MAX_TOKENS = 256;

type Answers = "free" | "forced";

interface Options {
  readonly suite: Suite;
  readonly data: readonly string[];
  readonly split: string | undefined;
  readonly answers: Answers;
  readonly maxNewTokens: number;
  readonly out: string;
}

function readOptions(parsed: ReturnType<typeof parseArguments>): Options {
  const name = one(parsed, "suite");
  const suite = SUITES.find((known) => known.name === name);
  const names = SUITES.map((known) => known.name).join(", ");
  if (suite === undefined) throw new LabError("bad-input", `--suite must be one of ${names}`, { subject: "suite" });
  const data = parsed.get("data");
  if (data === undefined) throw new LabError("bad-input", "--data DIR is needed", { subject: "data" });
  const out = one(parsed, "out");
  if (out === undefined) throw new LabError("bad-input", "--out DIR is needed", { subject: "out" });
  const answers = one(parsed, "answers") ?? "free";
  if (answers !== "free" && answers !== "forced") {
    throw new LabError("bad-input", `--answers is "${answers}", it must be free or forced`, { subject: "answers" });
  }
  const split = one(parsed, "split") ?? (suite.refs ? "val" : undefined);
  return { suite, data, split, answers, maxNewTokens: whole(parsed, "max-tokens", 1, 4096, MAX_TOKENS), out };
}

/** Neighbouring rows of one picture. */
function byPicture(rows: readonly RegionSummary[], most: number): RegionSummary[][] {
  const groups: RegionSummary[][] = [];
  for (const row of rows) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.imageId === row.imageId && last.length < most) last.push(row);
    else groups.push([row]);
  }
  return groups;
}

/** What a system answers for rows of one picture. */
async function answersOf(
  context: TryContext,
  rgb: RgbImage,
  rows: readonly RegionSummary[],
  from: System,
  { suite, answers, maxNewTokens }: Options,
): Promise<SuiteRow[]> {
  const imageId = rows[0]?.imageId ?? "";
  const ask = (task: TryTask) => tryOut(context, imageId, rgb, task, { from });
  const of = ({ id: rowId, caption: reference }: RegionSummary) => ({ rowId, imageId, reference });
  if (suite.task === "captions") {
    const answer = await ask({ kind: "describe", regions: rows.map(({ mask }) => mask), maxNewTokens });
    if (answer.kind !== "describe") throw new LabError("internal", "The answer is no caption");
    return rows.map((row, at) => ({ ...of(row), caption: answer.captions[at] ?? "" }));
  }
  if (answers === "forced") {
    const answer = await ask({ kind: "segment", phrases: rows.map(({ caption }) => caption) });
    if (answer.kind !== "segment") throw new LabError("internal", "The answer is no mask");
    return rows.map((row, at) => {
      const mask = answer.masks[at]?.mask;
      return { ...of(row), ...overlap(row, mask === undefined ? [] : [mask]) };
    });
  }
  const found: SuiteRow[] = [];
  for (const row of rows) {
    const question = `Please segment ${row.caption} in this image.`;
    const answer = await ask({ kind: "ask", question, regions: [], maxNewTokens });
    if (answer.kind !== "ask") throw new LabError("internal", "The answer is of another kind");
    found.push({
      ...of(row),
      ...overlap(
        row,
        answer.masks.map(({ mask }) => mask),
      ),
    });
  }
  return found;
}

/** Pixel counts by the rule that reports name: all masks united, no mask as an empty one. */
function overlap(row: RegionSummary, masks: readonly Rle[]): Pick<SuiteRow, "overlap"> {
  const counts = sentenceOverlap(row.mask, masks, "sa2va-2025-10");
  return counts === null ? {} : { overlap: counts };
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const options = readOptions(parsed);
  const { suite, split } = options;
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const { set, rows: source } = await openNodeRows(options.data, split);
  if (suite.refs && !set.files.some((file) => file.reason?.startsWith("referring expressions") === true)) {
    throw new LabError(
      "bad-input",
      `--suite ${suite.name} needs a refs file with its instances and pictures in --data`,
    );
  }
  const rows = set.summaries.slice(0, whole(parsed, "rows", 1, 1e9, set.summaries.length));
  if (rows.length === 0)
    throw new LabError(
      "bad-input",
      `--data has no row that can be scored${split === undefined ? "" : ` in split ${split}`}`,
    );
  say(`${rows.length} rows, ${set.skipped.length} left out`);
  const device = await openNodeDevice();
  const checkpoint = await localCheckpoint(one(parsed, "model") ?? POCKET_MODEL);
  const { model, hash } = await openModelFolder(checkpoint.folder, checkpoint.name);
  const path = one(parsed, "adapter");
  const target = { language: model.config.language, base: model.base };
  const adapter =
    path === undefined ? undefined : await readStartAdapter(await nodeFolder(path), target, basename(resolve(path)));
  const context: TryContext = {
    model,
    hash,
    adapter,
    live: undefined,
    store: memoryStore(),
    features: tryFeatures(model),
    onPhase: () => undefined,
    signal: new AbortController().signal,
  };
  const folder = await openEvalFolder(options.out, {
    suite: suite.name,
    split: split ?? null,
    answers: options.answers,
    model: { name: checkpoint.name, hash },
    adapter: adapter === undefined ? null : { name: adapter.name, hash: adapter.hash },
    rows: rows.length,
    rowsHash: await rowsHash(rows.map(({ id, imageId }) => [id, imageId] as const)),
  });
  const systems: readonly System[] = adapter === undefined ? ["base"] : ["base", "adapter"];
  let done = 0;
  for (const group of byPicture(rows, AT_ONCE)) {
    for (const system of systems) {
      const open = group.filter(({ id }) => !folder.answers.has(answerKey(system, id)));
      if (open.length === 0) continue;
      const { rgb } = await source((open[0] as RegionSummary).index);
      await folder.add(system, await answersOf(context, rgb, open, system, options));
      device.check();
    }
    done += group.length;
    if (done % 64 < group.length) say(`${done} of ${rows.length} rows`);
  }
  const answersBy = (system: System): SuiteRow[] =>
    rows.map(({ id }) => folder.answers.get(answerKey(system, id)) as SuiteRow);
  const report = {
    suite: suite.name,
    what: suite.what,
    split: split ?? null,
    rows: rows.length,
    pictures: new Set(rows.map(({ imageId }) => imageId)).size,
    leftOut: set.skipped.length,
    rule:
      suite.task === "masks"
        ? "all masks of a sentence united, no mask as an empty one"
        : "GLaMM clean-up, PTB rules, own",
    answers: suite.task === "masks" ? options.answers : "greedy",
    interval: "95 %, percentile bootstrap over pictures, 2,000 draws",
    systems: Object.fromEntries(systems.map((system) => [system, suiteScores(answersBy(system))])),
    difference: adapter === undefined ? null : suiteDifferences(answersBy("base"), answersBy("adapter")),
    published: { metric: suite.metric, scores: suite.published[split ?? ""] ?? [] },
  };
  await folder.report(report);
  if (parsed.has("json")) process.stdout.write(`${JSON.stringify({ kind: "report", ...report })}\n`);
  else process.stdout.write(reportText(report.systems, report.difference, report.published));
  model.dispose();
  device.close();
  return 0;
});

function reportText(
  systems: Readonly<Record<string, readonly SuiteScore[]>>,
  difference: readonly SuiteScore[] | null,
  published: { readonly metric: string; readonly scores: readonly PublishedScore[] },
): string {
  const percent = (value: number): string => (100 * value).toFixed(2);
  const lines: string[] = [];
  const add = (name: string, scores: readonly SuiteScore[]): void => {
    for (const { metric, value, low, high } of scores) {
      lines.push(`${name.padEnd(10)} ${metric.padEnd(8)} ${percent(value)}  [${percent(low)}, ${percent(high)}]`);
    }
  };
  for (const [name, scores] of Object.entries(systems)) add(name, scores);
  if (difference !== null) add("difference", difference);
  for (const { model, value, source } of published.scores) {
    lines.push(`published  ${published.metric.padEnd(8)} ${value.toFixed(1)}  ${model}, ${source}`);
  }
  return `${lines.join("\n")}\n`;
}
