/** Caption pairs with a judge: METEOR, the verdict and the reward of loop 2, pair by pair and on average. */
import { requireConfig } from "../../../src/engine/config/parse.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { openJudge } from "../../../src/engine/rewards/judge/setup.ts";
import type { RewardTerm } from "../../../src/engine/rewards/term.ts";
import { one, type Parsed } from "../arguments.ts";
import { commandLineConsent, requireConsent } from "../node/node-consent.ts";
import { judgeFlags, nodeJudgeHost } from "../node/node-judge.ts";
import { nodeWordnet } from "../node/node-rows.ts";
import { nodeStore } from "../node/node-store.ts";
import type { PairFile } from "./pair-file.ts";
import { composedScores, scoreConfig, termValues } from "./score-terms.ts";

/**
 * Prints one line per pair and a last one with means over the pairs that have a value, the number of missing verdicts
 * and the judge's cost. A missing verdict is null, never 0.
 * @throws LabError("bad-input" | "bad-config")
 */
export async function scoreWithJudge(predicted: PairFile, reference: PairFile, options: Parsed): Promise<number> {
  if (predicted.kind !== "captions" || reference.kind !== "captions") {
    throw badInput(`--judge scores captions, but ${predicted.name} has masks; nothing was scored`);
  }
  const json = options.has("json");
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const { config: fromFile, from } = scoreConfig(options);
  const config = requireConfig(judgeFlags(options, fromFile), fromFile, "command line");
  const cache = one(options, "judge-cache");
  const consent = await commandLineConsent(options, process.env);
  // Before any caption is sent.
  await requireConsent(config, consent, from, say);
  const host = nodeJudgeHost(cache === undefined ? null : nodeStore(cache), consent, say);
  const opened = await openJudge(config, host);
  if (opened === null) throw new LabError("bad-config", "The configuration turns the judge off");
  const { model, place, version, instrument } = opened.description;
  say(`judge ${model} at ${place}, ${instrument}, prompts ${version}`);

  const pairs = reference.items.map((text, at) => ({ reference: text, hypothesis: predicted.items[at] as string }));
  const verdicts = await opened.judge.terms(pairs);
  const wordnet = await nodeWordnet();
  const scores = await composedScores(predicted, reference, { config, from, wordnet, consent, verdicts });
  const rows = scores.map((score, at) => {
    const verdict = verdicts[at] as RewardTerm;
    const terms = termValues(score);
    return { meteor: terms.meteor ?? null, judge: verdict.value, reward: score.reward, verdict, terms };
  });
  for (const [at, { verdict, terms, ...row }] of rows.entries()) {
    const note = verdict.note === undefined ? {} : { note: verdict.note };
    if (json) print(JSON.stringify({ pair: at + 1, ...row, terms, ...note, detail: verdict.judge ?? null }));
    else {
      const shown = Object.entries(row).map(
        ([name, value]) => `${name} ${value === null ? "missing" : value.toFixed(6)}`,
      );
      print([at + 1, ...shown, verdict.note ?? ""].join("  ").trimEnd());
    }
  }
  const mean = (name: "meteor" | "judge" | "reward"): number | null => {
    const present = rows.flatMap((row) => row[name] ?? []);
    return present.length === 0 ? null : present.reduce((sum, value) => sum + value, 0) / present.length;
  };
  const missing = rows.filter((row) => row.judge === null).length;
  const means = { meteor: mean("meteor"), judge: mean("judge"), reward: mean("reward") };
  const { calls, cost } = opened.judge.spent;
  if (json) print(JSON.stringify({ mean: means, pairs: rows.length, missing, calls, cost, model, prompts: version }));
  else {
    const shown = Object.entries(means).map(
      ([name, value]) => `${name} ${value === null ? "missing" : value.toFixed(6)}`,
    );
    print(`mean ${shown.join("  ")} of ${rows.length}, ${missing} without a verdict, ${calls} calls`);
  }
  return 0;
}
