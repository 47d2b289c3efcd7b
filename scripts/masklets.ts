/**
 * npm run masklets -- --data DIR --model DIR --out DIR [--split NAME] [--clip ID…] [--expression TEXT…]
 *                     [--choose first|uniform|every:K] [--frames N] [--decoder published|consistent|alone]
 *                     [--answers free|forced] [--max-tokens N] [--keep N] [--json]
 *
 * Follows the objects that an expression names through clips: folders of pictures, Ref-YouTube-VOS, MeViS, ReVOS,
 * Ref-DAVIS17. --out receives masklets.json with run-length masks and a folder of PNGs (0 and 255) for each
 * expression, and report.json with J, F and J&F if the masks are public. `published` decodes as the Sa2VA release
 * does; `consistent` lets SAM2's tracker follow the masks of the chosen frames, as Sa2VA-i does; `alone` decodes every
 * frame without memory, as training does. An interrupted call continues from the last kept frame (--keep: number of
 * frames between two kept states). Exit 2: a bad argument or input.
 */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { badInput, LabError } from "../src/engine/errors.ts";
import type { Sa2vaConfig } from "../src/engine/model/config.ts";
import { openSa2va } from "../src/engine/model/sa2va.ts";
import { weightsHash } from "../src/engine/model/weights/weights-hash.ts";
import { decoderWork, encoderWork, pointerWork, TRACKED_TOKENS } from "../src/engine/plan/work.ts";
import type { FollowSettings } from "../src/plugins/clips/follow.ts";
import { videoShapes } from "../src/plugins/clips/sam2/video-shapes.ts";
import { bankBytes, mapsRead, pointersRead, trackingWork } from "../src/plugins/clips/video-cost.ts";
import { type Clip, type ClipExpression, openClips } from "../src/plugins/data-sets/clip-set.ts";
import { meanScore, scoreByType, scoreLine } from "../src/plugins/suites/masklet-score.ts";
import { one, type Parsed, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { localCheckpoint } from "./lib/checkpoint-source.ts";
import { runClip, type ScoredClip, writeJson } from "./lib/clip-run.ts";
import { FOLLOW_OPTIONS, followOptions, oneOf } from "./lib/follow-options.ts";
import { nodeFolder } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { nodeStore } from "./lib/node/node-store.ts";
import { onStopSignal } from "./lib/stop-signal.ts";

const OPTIONS = {
  data: { takes: 1 },
  out: { takes: 1 },
  split: { takes: 1 },
  clip: { takes: "many" },
  expression: { takes: "many" },
  model: { takes: 1 },
  ...FOLLOW_OPTIONS,
  answers: { takes: 1 },
  "max-tokens": { takes: 1 },
  keep: { takes: 1 },
  json: { takes: 0 },
} as const;

function needed(parsed: Parsed, name: string): string {
  const value = one(parsed, name);
  if (value === undefined) throw badInput(`--${name} DIR is needed`, name);
  return value;
}

function settingsOf(parsed: Parsed): FollowSettings {
  return {
    ...followOptions(parsed),
    answers: oneOf(parsed, "answers", ["free", "forced"]),
    maxCompletionLength: whole(parsed, "max-tokens", 1, 4096, 256),
  };
}

/** The expressions of a clip, or those of the command line instead. */
function expressionsOf(clip: Clip, given: readonly string[] | undefined): readonly ClipExpression[] {
  if (given !== undefined) return given.map((text, at) => ({ id: `asked-${at + 1}`, text, truth: undefined }));
  const named = clip.expressions.filter(({ text }) => text !== "");
  if (named.length > 0) return named;
  throw badInput(`Clip "${clip.id}" has no expressions; name one with --expression`, "expression");
}

/** The cost of a tracked frame. @param count number of conditioning frames */
function costText({ sam2, decoderSizes }: Sa2vaConfig, count: number): string {
  const maps = mapsRead(sam2, count);
  const { attention, memoryEncoder } = trackingWork(sam2, maps, pointersRead(count));
  const own = attention + memoryEncoder + decoderWork(sam2, decoderSizes, TRACKED_TOKENS) + pointerWork(sam2);
  const giga = (operations: number): string => `${(operations / 1e9).toFixed(3)} GFLOP`;
  return (
    `A tracked frame reads up to ${maps} memories: ${giga(encoderWork(sam2))} for all objects, ${giga(own)} and ` +
    `${(bankBytes(sam2, count).bank / 1e6).toFixed(2)} MB for each, whatever the length of the clip`
  );
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const [data, out, settings] = [needed(parsed, "data"), resolve(needed(parsed, "out")), settingsOf(parsed)];
  if (statSync(out, { throwIfNoEntry: false })?.isDirectory() === false)
    throw badInput(`--out ${out} is a file`, "out");
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  const set = await openClips(await nodeFolder(data), one(parsed, "split"));
  for (const sentence of set.leftOut) say(sentence);
  const wanted = parsed.get("clip");
  const absent = wanted?.find((id) => !set.clips.some((clip) => clip.id === id));
  if (absent !== undefined) throw badInput(`There is no clip "${absent}" in --data`, "clip");
  const clips = set.clips.filter(({ id }) => wanted === undefined || wanted.includes(id));
  const work = clips.flatMap((clip) =>
    expressionsOf(clip, parsed.get("expression")).map((expression) => ({ clip, expression })),
  );
  const keepEvery = whole(parsed, "keep", 1, 1e6, 50);
  const device = await openNodeDevice();
  const checkpoint = await localCheckpoint(needed(parsed, "model"));
  const modelHash = await weightsHash(checkpoint.folder);
  const model = await openSa2va(checkpoint.folder, checkpoint.name, {
    video: settings.decoder === "alone" ? undefined : videoShapes,
  });
  const stop = new AbortController();
  onStopSignal(() => stop.abort());
  if (settings.decoder !== "alone") say(costText(model.config, settings.choice.count));
  const scored: ScoredClip[] = [];
  try {
    for (const { clip, expression } of work) {
      const result = await runClip({
        settings,
        keepEvery,
        model,
        modelHash,
        clip,
        expression,
        out,
        signal: stop.signal,
        say,
      });
      device.check();
      scored.push(result);
      if (parsed.has("json")) process.stdout.write(`${JSON.stringify({ kind: "masklet", ...result })}\n`);
    }
  } catch (cause) {
    if (!stop.signal.aborted) throw cause;
    throw new LabError(
      "cancelled",
      `Interrupted after ${scored.length} of ${work.length} masklets; what is finished is kept, run the same command again to continue`,
      { cause },
    );
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
  await writeJson(nodeStore(out), "report.json", report);
  if (parsed.has("json")) process.stdout.write(`${JSON.stringify({ kind: "report", ...report })}\n`);
  else if (report.mean === null) process.stdout.write(`${scored.length} masklets; no public masks to score against\n`);
  else {
    process.stdout.write(`${scoreLine(known)}\n`);
  }
  return 0;
});
