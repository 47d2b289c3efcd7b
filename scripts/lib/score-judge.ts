/** Caption pairs with a judge: METEOR, the verdict and the reward of loop 2, pair by pair and on average. */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { LabError } from "../../src/engine/errors.ts";
import { composeGroup } from "../../src/engine/rewards/composer/compose-group.ts";
import { rewardPlan } from "../../src/engine/rewards/composer/plan.ts";
import { openJudge } from "../../src/engine/rewards/judge/setup.ts";
import { Meteor } from "../../src/engine/rewards/meteor/meteor.ts";
import { one, type Parsed } from "./arguments.ts";
import { commandLineConsent } from "./node-consent.ts";
import { judgeFlags, nodeJudgeHost } from "./node-judge.ts";
import { nodeWordnet } from "./node-rows.ts";
import { nodeStore } from "./node-store.ts";
import type { PairFile } from "./pair-file.ts";
import { readFileOfSettings } from "./settings-flags.ts";

/**
 * Prints one line per pair and a last one with means over the pairs that have a value, the number of missing verdicts and
 * what the judge took. A missing verdict is null, never 0.
 * @throws LabError("bad-input" | "bad-config")
 */
export async function scoreWithJudge(predicted: PairFile, reference: PairFile, options: Parsed): Promise<number> {
  if (predicted.kind !== "captions" || reference.kind !== "captions") {
    throw new LabError("bad-input", `--judge scores captions, but ${predicted.name} has masks; nothing was scored`);
  }
  const json = options.has("json");
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  const file = one(options, "config");
  const fromFile = requireConfig(file === undefined ? {} : readFileOfSettings(file), undefined, file);
  const config = requireConfig(judgeFlags(options, fromFile), fromFile, "command line");
  const cache = one(options, "judge-cache");
  const consent = await commandLineConsent(options, process.env);
  const host = nodeJudgeHost(cache === undefined ? null : nodeStore(cache), consent, say);
  const opened = await openJudge(config, host);
  if (opened === null) throw new LabError("bad-config", "The configuration turns the judge off");
  const { model, place, version, instrument } = opened.description;
  say(`judge ${model} at ${place}, ${instrument}, prompts ${version}`);

  const pairs = reference.items.map((text, at) => ({ reference: text, hypothesis: predicted.items[at] as string }));
  const meteor = new Meteor(await nodeWordnet());
  const verdicts = await opened.judge.terms(pairs);
  const rows = pairs.map(({ reference: truth, hypothesis }, at) => {
    const detail = meteor.score(truth, hypothesis);
    const verdict = verdicts[at];
    if (verdict === undefined) throw new LabError("internal", "A pair got no term of the judge");
    // Every pair is its own group: policies for whole groups have nothing to spread to.
    const terms = [{ name: "meteor", value: detail.score, weight: 0 }, verdict];
    const weights = {
      ...rewardPlan(config),
      missingVerdict: config.missingVerdict === "meteor" ? "meteor" : "drop",
    } as const;
    const [composed] = composeGroup([terms], 2, weights);
    return { meteor: detail.score, judge: verdict.value, reward: composed?.reward ?? null, verdict };
  });
  for (const [at, { verdict, ...row }] of rows.entries()) {
    const note = verdict.note === undefined ? {} : { note: verdict.note };
    if (json) print(JSON.stringify({ pair: at + 1, ...row, ...note, detail: verdict.judge ?? null }));
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
