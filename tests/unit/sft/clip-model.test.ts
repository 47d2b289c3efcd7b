/** The pocket model for clips that comes with the page: it opens, is small, and says how things move. */
import { statSync } from "node:fs";
import { beforeAll, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node-files.ts";
import { nodeWordnet } from "../../../scripts/lib/node-rows.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../../src/engine/model/sa2va.ts";
import { meteorScorer } from "../../../src/engine/rewards/caption-scorer.ts";
import { answerHeldOut } from "../../../src/engine/sft/evaluate.ts";
import { motionIn } from "../../../tools/pocket/world/motion.ts";
import { heldOutClips } from "../../../tools/pocket/worlds.ts";

const FOLDER = "public/pocket/clip-model";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

it("follows phrases of motion and says motions on clips it has not seen", async () => {
  expect(statSync(`${FOLDER}/model.safetensors`).size).toBeLessThan(2.5e6);
  const model = await openSa2va(await nodeFolder(FOLDER), "clips");
  const settings = { maxNewTokens: 16, signal: new AbortController().signal };
  const answers = await answerHeldOut(model, {}, heldOutClips(2, 881_100), meteorScorer(await nodeWordnet()), settings);
  expect(answers).toHaveLength(2);
  expect(answers.every(({ caption }) => motionIn(caption) !== "")).toBe(true);
  expect(answers.reduce((sum, { iou }) => sum + iou, 0) / 2).toBeGreaterThan(0.2);
  model.dispose();
});
