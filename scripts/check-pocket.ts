/**
 * Measures a pocket model on scenes that it was not trained on (by kind of phrase or caption), on pictures of
 * overlapping regions (by kind of difference), and on clips of moving scenes.
 *
 *   npx tsx scripts/check-pocket.ts [--model DIR] [--seed N] [--scenes N] [--overlaps N] [--clips N]
 *     [--backend-module FILE]
 */
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { maskIou } from "../src/engine/data/mask/rle.ts";
import { openSa2va } from "../src/engine/model/sa2va.ts";
import { weightsView } from "../src/engine/model/weights/weights.ts";
import { disposeFeatures, encodeImage } from "../src/engine/policy/features.ts";
import { describePictures, findInPictures } from "../src/engine/policy/partner.ts";
import { meteorScorer } from "../src/engine/rewards/scorer.ts";
import { answerHeldOut, clusterInterval } from "../tools/pocket/evaluate.ts";
import {
  type Description,
  describe,
  drawDiscriminating,
  drawVague,
  tellsApart,
} from "../tools/pocket/world/describe.ts";
import { sceneDice } from "../tools/pocket/world/dice.ts";
import { COLOURS, KINDS } from "../tools/pocket/world/kinds.ts";
import { motionIn } from "../tools/pocket/world/motion.ts";
import { type OverlappingPicture, overlappingPicture, pocketPicture } from "../tools/pocket/world/samples.ts";
import type { Thing } from "../tools/pocket/world/scene.ts";
import { heldOutClips } from "../tools/pocket/worlds.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { nodeFolder } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { nodeWordnet } from "./lib/node/node-rows.ts";

const SIDE = 256;
const OPTIONS = {
  model: { takes: 1 },
  seed: { takes: 1 },
  scenes: { takes: 1 },
  overlaps: { takes: 1 },
  clips: { takes: 1 },
  "backend-module": { takes: 1 },
} as const;

/** Records the value of a measurement for one scene. */
type Put = (name: string, value: number) => void;

const BARE = { definite: true, family: false, size: false, colour: false, place: false, neighbour: null } as const;

/** Phrases by their kind; only the vague ones may be true of more than one object. */
function phrasesFor(thing: Thing, scene: Parameters<typeof drawVague>[1], dice: () => number): [string, string][] {
  const forms: [string, Description][] = [
    ["kind", { ...BARE, thing }],
    ["colour and kind", { ...BARE, thing, colour: true }],
    ["size, colour and kind", { ...BARE, thing, size: true, colour: true }],
    ["colour, kind and place", { ...BARE, thing, colour: true, place: true }],
  ];
  const known = forms
    .filter(([, what]) => tellsApart(what, scene))
    .map(([name, what]): [string, string] => [`phrase of ${name}`, describe(what, dice)]);
  const rich = drawDiscriminating(thing, scene, dice);
  const vague = drawVague(thing, scene, dice);
  return [
    ...known,
    ...(rich.neighbour === null ? [] : [["phrase with a neighbour", describe(rich, dice)] as [string, string]]),
    ["phrase as a discriminating caption", describe(rich, dice)],
    [
      tellsApart(vague, scene) ? "vague phrase, true of one thing" : "vague phrase, true of several",
      describe(vague, dice),
    ],
  ];
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, 777_001);
  const scenes = whole(parsed, "scenes", 0, 100_000, 100);
  const overlaps = whole(parsed, "overlaps", 0, 100_000, 0);
  const clips = whole(parsed, "clips", 0, 100_000, 0);
  const module = one(parsed, "backend-module");
  const device = module === undefined ? await openNodeDevice() : undefined;
  if (module !== undefined) await import(pathToFileURL(resolve(module)).href);
  const model = await openSa2va(
    await nodeFolder(one(parsed, "model") ?? join(root, "public", "pocket", "model")),
    "pocket",
  );
  const weights = weightsView(new Map([...model.frozen, ...model.base]), {}, 0);
  const scorer = meteorScorer(await nodeWordnet());
  const found = new Map<string, { values: number[]; scenes: number[] }>();

  const putting =
    (scene: number): Put =>
    (name, value) => {
      const own = found.get(name) ?? { values: [], scenes: [] };
      own.values.push(value);
      own.scenes.push(scene);
      found.set(name, own);
    };
  for (let index = 0; index < scenes; index++) {
    const put = putting(index);
    const picture = pocketPicture(seed, index, 1, SIDE);
    const { scene, masks } = picture;
    const dice = sceneDice(seed + 1, index);
    const features = await encodeImage(model, picture.rgb, 1);
    const asked = scene.things.flatMap((thing, at) => phrasesFor(thing, scene, dice).map((phrase) => ({ phrase, at })));
    const place = { features, height: SIDE, width: SIDE };
    const phrases = asked.map(({ phrase }) => phrase[1]);
    const [drawn = []] = await findInPictures(model, weights, [{ ...place, phrases }]);
    asked.forEach(({ phrase: [name], at }, i) => {
      const overlaps = masks.map((mask) => maskIou(drawn[i]?.mask ?? new Uint8Array(SIDE * SIDE), mask).iou);
      put(`${name}: IoU`, overlaps[at] as number);
      put(
        `${name}: the right thing has the highest IoU`,
        Number(overlaps[at] === Math.max(...overlaps) && (overlaps[at] as number) > 0),
      );
    });
    const settings = { maxCompletionLength: 16, logitGuard: 30, keepTiny: true, signal: new AbortController().signal };
    const [captions = []] = await describePictures(model, weights, [{ ...place, masks }], settings);
    const references = scene.things.map((thing) => describe(drawDiscriminating(thing, scene, dice), dice));
    const scores = await scorer.score(
      captions.map((text, i) => ({ hypothesis: text ?? "", reference: references[i] as string })),
    );
    scene.things.forEach((thing, i) => {
      const words = (captions[i] ?? "").split(" ");
      put("greedy caption: METEOR against a discriminating one", scores[i]?.reward ?? 0);
      put(
        "greedy caption: names the kind",
        Number(KINDS[thing.kind]?.words.some((word) => words.includes(word)) ?? false),
      );
      // A neighbour's colour comes after its object, so the first colour is that of the object.
      const colour = words.find((word) => word in COLOURS);
      if (colour !== undefined)
        put("greedy caption: the right colour, where one is named", Number(colour === thing.colour));
    });
    disposeFeatures(features);
  }
  const settings = { maxCompletionLength: 16, signal: new AbortController().signal };
  const overlapping = Array.from({ length: overlaps }, (_, at) => overlappingPicture(seed, at, SIDE));
  for (const answer of await answerHeldOut(model, {}, overlapping, scorer, settings)) {
    const put = putting(answer.picture);
    const { extent, regions } = overlapping[answer.picture] as OverlappingPicture;
    for (const name of [extent, "all"]) {
      put(`overlap, ${name}: IoU`, answer.iou);
      put(`overlap, ${name}: caption equal to the reference`, Number(answer.caption === answer.reference));
      put(
        `overlap, ${name}: caption of the other region`,
        Number(regions.some((other, at) => at !== answer.region && other.caption === answer.caption)),
      );
    }
  }
  for (const answer of await answerHeldOut(model, {}, heldOutClips(clips, seed), scorer, settings)) {
    const put = putting(answer.picture);
    put("clip, phrase with motion: IoU of the masklet", answer.iou);
    put("clip, phrase with motion: IoU above 0.5", Number(answer.iou > 0.5));
    put("clip, greedy caption: METEOR", answer.meteor);
    put("clip, greedy caption: says a motion", Number(motionIn(answer.caption) !== ""));
    put("clip, greedy caption: says the right motion", Number(motionIn(answer.caption) === motionIn(answer.reference)));
  }
  for (const [name, { values, scenes: clusters }] of [...found].sort()) {
    const { mean, low, high } = clusterInterval(values, clusters, 1);
    const numbers = [mean, low, high].map((value) => value.toFixed(3));
    process.stdout.write(`${name.padEnd(62)} ${numbers[0]} (${numbers[1]} – ${numbers[2]}), n ${values.length}\n`);
  }
  model.dispose();
  device?.close();
  return 0;
});
