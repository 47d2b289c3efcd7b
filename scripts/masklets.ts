/**
 * npm run masklets -- --data DIR --model DIR --out DIR [--split NAME] [--clip ID…] [--expression TEXT…]
 *                     [--choose first|uniform|every:K] [--frames N] [--decoder published|consistent]
 *                     [--answers free|forced] [--max-tokens N] [--keep N] [--json]
 *
 * Follows what an expression names through the frames of clips: folders of pictures, Ref-YouTube-VOS, MeViS, ReVOS,
 * Ref-DAVIS17. --out receives, for each expression, masklets.json with run-length masks and a folder of PNG (0 and 255), and
 * report.json with J, F and J&F where masks are public. `published` decodes as Sa2VA is released; `consistent` lets SAM2's
 * tracker follow the masks of the chosen frames, as Sa2VA-i does. What was interrupted goes on from the last kept frame
 * (--keep: every so many frames). Exit 2: a bad argument or input.
 */
import { resolve } from "node:path";
import { type Clip, type ClipExpression, openClips } from "../src/engine/data/clips/clip-set.ts";
import { LabError } from "../src/engine/errors.ts";
import { meanScore, scoreByType } from "../src/engine/eval/video/masklet-score.ts";
import { openSa2va } from "../src/engine/model/sa2va.ts";
import { bankBytes, mapsRead, pointersRead, trackingWork } from "../src/engine/plan/video.ts";
import type { FollowSettings } from "../src/engine/policy/clip/follow-expression.ts";
import { type FrameChoice, PUBLISHED_FRAMES, parseFrameChoice } from "../src/engine/policy/clip/frames.ts";
import type { ClipDecoder } from "../src/engine/policy/clip/masklets.ts";
import { one, type Parsed, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { localCheckpoint } from "./lib/checkpoint-source.ts";
import { runClip, type ScoredClip, writeJson } from "./lib/clip-run.ts";
import { nodeFolder } from "./lib/node-files.ts";
import { openNodeDevice } from "./lib/node-gpu.ts";

const OPTIONS = {
  data: { takes: 1 },
  out: { takes: 1 },
  split: { takes: 1 },
  clip: { takes: "many" },
  expression: { takes: "many" },
  model: { takes: 1 },
  choose: { takes: 1 },
  frames: { takes: 1 },
  decoder: { takes: 1 },
  answers: { takes: 1 },
  "max-tokens": { takes: 1 },
  keep: { takes: 1 },
  json: { takes: 0 },
} as const;

function choiceOf<T extends string>(parsed: Parsed, name: string, values: readonly T[]): T {
  const text = one(parsed, name) ?? values[0];
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw new LabError("bad-input", `--${name} is "${text}", it must be one of ${values.join(", ")}`, { subject: name });
}

function needed(parsed: Parsed, name: string): string {
  const value = one(parsed, name);
  if (value === undefined) throw new LabError("bad-input", `--${name} DIR is needed`, { subject: name });
  return value;
}

function settingsOf(parsed: Parsed): FollowSettings {
  const decoder: ClipDecoder = choiceOf(parsed, "decoder", ["published", "consistent"]);
  const text = one(parsed, "choose") ?? (decoder === "published" ? "first" : "uniform");
  const choice: FrameChoice | undefined = parseFrameChoice(text, whole(parsed, "frames", 1, 64, PUBLISHED_FRAMES));
  if (choice === undefined) {
    throw new LabError("bad-input", `--choose is "${text}", it must be first, uniform or every:K`, {
      subject: "choose",
    });
  }
  return {
    choice,
    decoder,
    answers: choiceOf(parsed, "answers", ["free", "forced"]),
    maxNewTokens: whole(parsed, "max-tokens", 1, 4096, 256),
  };
}

/** The expressions of a clip, or those of the command line in their place. */
function expressionsOf(clip: Clip, given: readonly string[] | undefined): readonly ClipExpression[] {
  if (given !== undefined) return given.map((text, at) => ({ id: `asked-${at + 1}`, text, truth: undefined }));
  const named = clip.expressions.filter(({ text }) => text !== "");
  if (named.length > 0) return named;
  throw new LabError("bad-input", `Clip "${clip.id}" has no expressions; name one with --expression`, {
    subject: "expression",
  });
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const [data, out, settings] = [needed(parsed, "data"), resolve(needed(parsed, "out")), settingsOf(parsed)];
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const set = await openClips(await nodeFolder(data), one(parsed, "split"));
  for (const sentence of set.leftOut) say(sentence);
  const wanted = parsed.get("clip");
  const absent = wanted?.find((id) => !set.clips.some((clip) => clip.id === id));
  if (absent !== undefined)
    throw new LabError("bad-input", `There is no clip "${absent}" in --data`, { subject: "clip" });
  const clips = set.clips.filter(({ id }) => wanted === undefined || wanted.includes(id));
  const work = clips.flatMap((clip) =>
    expressionsOf(clip, parsed.get("expression")).map((expression) => ({ clip, expression })),
  );
  const keepEvery = whole(parsed, "keep", 1, 1e6, 50);
  const device = await openNodeDevice();
  const checkpoint = await localCheckpoint(needed(parsed, "model"));
  const model = await openSa2va(checkpoint.folder, checkpoint.name, { video: true });
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const maps = mapsRead(model.config.sam2, settings.choice.count);
  const cost = trackingWork(model.config.sam2, maps, pointersRead(settings.choice.count));
  const bank = bankBytes(model.config.sam2, settings.choice.count);
  say(
    `A tracked frame reads up to ${maps} memories: ${((cost.attention + cost.memoryEncoder) / 1e9).toFixed(3)} GFLOP and ` +
      `${(bank.bank / 1e6).toFixed(2)} MB for each object, whatever the length of the clip`,
  );
  const scored: ScoredClip[] = [];
  try {
    for (const { clip, expression } of work) {
      const result = await runClip({ settings, keepEvery, model, clip, expression, out, signal: stop.signal, say });
      device.check();
      scored.push(result);
      if (parsed.has("json")) process.stdout.write(`${JSON.stringify({ kind: "masklet", ...result })}\n`);
    }
  } finally {
    model.dispose();
    device.close();
  }
  const known = scored.flatMap(({ score, type }) => (score === null ? [] : [{ ...score, type }]));
  const report = {
    settings: { ...settings, split: one(parsed, "split") ?? null, model: checkpoint.name },
    masklets: scored.length,
    scored: known.length,
    mean: known.length === 0 ? null : meanScore(known),
    byType: known.some(({ type }) => type !== undefined) ? scoreByType(known) : null,
    expressions: scored,
  };
  await writeJson(out, "report.json", report);
  if (parsed.has("json")) process.stdout.write(`${JSON.stringify({ kind: "report", ...report })}\n`);
  else if (report.mean === null) process.stdout.write(`${scored.length} masklets; no public masks to score against\n`);
  else {
    const [j, f, jf] = [report.mean.j, report.mean.f, report.mean.jf].map((value) => (100 * value).toFixed(2));
    process.stdout.write(`${known.length} masklets  J ${j}  F ${f}  J&F ${jf}\n`);
  }
  return 0;
});
