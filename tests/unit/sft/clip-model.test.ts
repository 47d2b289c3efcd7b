/** The pocket model for clips that comes with the page: it opens, is small, and says how things move. */
import { statSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { nodeWordnet } from "../../../scripts/lib/node/node-rows.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../../src/engine/model/sa2va.ts";
import { meteorScorer } from "../../../src/engine/rewards/scorer.ts";
import { answerHeldOut } from "../../../tools/pocket/evaluate.ts";
import { pocketClip, stripOf } from "../../../tools/pocket/world/clip-samples.ts";
import { motionIn } from "../../../tools/pocket/world/motion.ts";

/** Frames of the clip: the ends of its motion. */
const FRAMES = 5;
const FOLDER = "public/pocket/clip-model";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

it("follows a phrase of motion and says the motion on a clip it has not seen", async () => {
  expect(statSync(`${FOLDER}/model.safetensors`).size).toBeLessThan(2.5e6);
  const model = await openSa2va(await nodeFolder(FOLDER), "clips");
  const clip = pocketClip(881_100, 3, { regions: 1, frames: FRAMES, heldOut: true });
  const settings = { maxCompletionLength: 16, signal: new AbortController().signal };
  const unseen = { rgb: stripOf(clip), regions: clip.regions, frames: FRAMES };
  const [answer] = await answerHeldOut(model, {}, [unseen], meteorScorer(await nodeWordnet()), settings);
  expect(motionIn(answer?.caption ?? "")).toBe(motionIn(answer?.phrase ?? "none"));
  expect(answer?.iou).toBeGreaterThan(0.5);
  model.dispose();
});
