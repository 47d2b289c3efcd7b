/**
 * `npm run score -- --pred FILE --ref FILE [--config FILE] [--json] [--judge URL [--judge-model NAME] [--judge-kind questions|dlc]
 *                    [--judge-questions FILE] [--judge-cache DIR]] [--allow-custom-reward]`
 *
 * Prints METEOR of caption files or IoU of mask files, pair by pair and as a mean, and below it the reward of the
 * settings (loop 2 for captions, loop 1 for masks) term by term. --ref is the ground truth. Pairs are formed by order;
 * two entries with different ids are refused. Two empty masks have IoU 0, in the reward the setting emptyPairReward.
 * The file forms are in scripts/lib/scores/pair-file.ts.
 */
import { badInput, LabError } from "../src/engine/errors.ts";
import { Meteor } from "../src/engine/rewards/meteor/meteor.ts";
import { regionIou } from "../src/engine/rewards/terms/iou.ts";
import type { Wordnet } from "../src/engine/rewards/wordnet.ts";
import { one, parseArguments, refuseIdle, runTool } from "./lib/arguments.ts";
import { commandLineConsent } from "./lib/node/node-consent.ts";
import { JUDGE_OPTIONS } from "./lib/node/node-judge.ts";
import { nodeWordnet } from "./lib/node/node-rows.ts";
import { type PairFile, readPairFile } from "./lib/scores/pair-file.ts";
import { scoreWithJudge } from "./lib/scores/score-judge.ts";
import { composedScores, scoreConfig, termValues } from "./lib/scores/score-terms.ts";

/** Options that act on the judge that --judge names. */
const JUDGE_NEEDED = ["judge-model", "judge-kind", "judge-questions", "judge-cache"];

/** Scores of one pair; the printed mean is that of `score`. */
interface Row {
  readonly score: number;
  readonly [name: string]: number;
}

/** @throws LabError("bad-input") for a bad argument or file */
async function main(): Promise<number> {
  const options = parseArguments(process.argv.slice(2), {
    pred: { takes: 1 },
    ref: { takes: 1 },
    json: { takes: 0 },
    config: { takes: 1 },
    "judge-cache": { takes: 1 },
    ...JUDGE_OPTIONS,
  });
  refuseIdle(options, ["allow-judge"], "on scores; name the judge with --judge");
  if (!options.has("judge")) refuseIdle(options, JUDGE_NEEDED, "without --judge");
  const [predictedPath, referencePath] = [path("pred"), path("ref")];
  const predicted = await readPairFile(predictedPath);
  const reference = await readPairFile(referencePath);
  const kind = comparable(predicted, reference);
  if (options.has("judge")) return scoreWithJudge(predicted, reference, options);
  const wordnet = await nodeWordnet();
  const rows = kind === "captions" ? meteorRows(predicted, reference, wordnet) : iouRows(predicted, reference);
  const consent = await commandLineConsent(options, process.env);
  const settings = scoreConfig(options);
  if (kind === "captions" && settings.config.judge !== "off") {
    process.stderr.write(`The judge of ${settings.from} is not asked without --judge; METEOR has its weight\n`);
  }
  const composed = await composedScores(predicted, reference, { ...settings, wordnet, consent });
  const name = kind === "captions" ? "meteor" : "iou";
  const mean = rows.reduce((sum, row) => sum + row.score, 0) / rows.length;
  const print = (line: string): boolean => process.stdout.write(`${line}\n`);
  const json = options.has("json");
  for (const [pair, { score, ...rest }] of rows.entries()) {
    const own = composed[pair];
    const reward = own?.reward ?? null;
    const terms = own === undefined ? {} : termValues(own);
    if (json) print(JSON.stringify({ pair: pair + 1, [name]: score, ...rest, reward, terms }));
    else {
      const details = Object.entries(rest).map(([key, value]) => `${key} ${shown(value)}`);
      const others = Object.entries(terms).filter(([key]) => key !== name);
      const parts = others.map(([key, value]) => `${key} ${value === null ? "missing" : shown(value)}`);
      print(`${pair + 1}  ${name} ${shown(score)}  ${details.join("  ")}`);
      print(`   reward ${reward === null ? "missing" : shown(reward)}  ${parts.join("  ")}`);
    }
  }
  const present = composed.flatMap(({ reward }) => reward ?? []);
  const meanReward = present.length === 0 ? null : present.reduce((sum, reward) => sum + reward, 0) / present.length;
  const missing = composed.length - present.length;
  if (json) print(JSON.stringify({ mean, term: name, pairs: rows.length, reward: meanReward, missing }));
  else {
    print(`mean ${name} ${shown(mean)} of ${rows.length}`);
    const without = missing === 0 ? "" : `, ${missing} without one`;
    print(`mean reward ${meanReward === null ? "missing" : shown(meanReward)} of ${present.length}${without}`);
  }
  return 0;

  function path(option: "pred" | "ref"): string {
    const value = one(options, option);
    if (value === undefined) throw badInput(`--${option} FILE is missing`);
    return value;
  }
}

function comparable(predicted: PairFile, reference: PairFile): "captions" | "masks" {
  const describe = ({ name, kind, items }: PairFile): string => `${name} has ${items.length} ${kind}`;
  if (predicted.kind !== reference.kind || predicted.items.length !== reference.items.length) {
    throw badInput(`${describe(predicted)}, but ${describe(reference)}; nothing was scored`);
  }
  for (const [at, id] of reference.ids.entries()) {
    const other = predicted.ids[at];
    if (id !== undefined && other !== undefined && id !== other) {
      const each = `id ${other} in ${predicted.name}, but ${id} in ${reference.name}`;
      throw badInput(`Pair ${at + 1} has ${each}; nothing was scored`);
    }
  }
  return predicted.kind;
}

function meteorRows(predicted: PairFile, reference: PairFile, wordnet: Wordnet): Row[] {
  if (predicted.kind !== "captions" || reference.kind !== "captions") return [];
  const meteor = new Meteor(wordnet);
  return reference.items.map((caption, at) => {
    const detail = meteor.score(caption, predicted.items[at] as string);
    const { score, precision, recall, chunks } = detail;
    return { score, precision, recall, matches: detail.matches.length, chunks };
  });
}

function iouRows(predicted: PairFile, reference: PairFile): Row[] {
  if (predicted.kind !== "masks" || reference.kind !== "masks") return [];
  return reference.items.map((mask, at) => {
    const other = predicted.items[at];
    try {
      if (other === undefined) throw new LabError("internal", "the lists have different lengths");
      const { iou, intersection, union } = regionIou(other, mask);
      return { score: iou, intersection, union };
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      throw new LabError(thrown.code, `${predicted.name} and ${reference.name}, pair ${at + 1}: ${thrown.message}`, {
        subject: predicted.name,
        cause: thrown,
      });
    }
  });
}

function shown(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(6);
}

await runTool(main);
