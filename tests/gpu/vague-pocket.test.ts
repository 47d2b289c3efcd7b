/** The vague pocket model: other captions, the same masks. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { nodeWordnet, presetModel } from "../../scripts/lib/node/node-rows.ts";
import { fromHalf, toHalf } from "../../src/engine/gpu/packed/quantise.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { tensorsOf } from "../../src/engine/model/weights/weights.ts";
import { meteorScorer } from "../../src/engine/rewards/scorer.ts";
import { answerHeldOut } from "../../tools/pocket/evaluate.ts";
import { pocketPicture } from "../../tools/pocket/world/samples.ts";
import { checkedGpu } from "../support/gpu.ts";
import { POCKET } from "../support/session.ts";
import { tool } from "../support/tools.ts";

checkedGpu();

let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "lab-vague-"));
});
afterAll(async () => rm(scratch, { recursive: true, force: true }));

const open = async (path: string): Promise<Sa2vaModel> => openSa2va(await nodeFolder(path), "m");

/** First parts of the names of tensors that differ by more than rounding to half precision. */
async function changedParts(before: Sa2vaModel, after: Sa2vaModel): Promise<string[]> {
  const own = new Map([...tensorsOf(after.frozen), ...after.base]);
  const changed = new Set<string>();
  for (const [name, tensor] of [...tensorsOf(before.frozen), ...before.base]) {
    const [a, b] = [(await tensor.data()) as Float32Array, (await own.get(name)?.data()) as Float32Array];
    if (a.some((value, at) => fromHalf(toHalf(value)) !== b[at])) changed.add(name.split(".")[0] as string);
  }
  return [...changed].sort();
}

/** Mean words, METEOR and grounding IoU over the regions of drawn pictures. */
async function answers(model: Sa2vaModel) {
  const pictures = Array.from({ length: 8 }, (_, at) => pocketPicture(20_270_201, at, 2, 256, { discriminating: 1 }));
  const { signal } = new AbortController();
  const own = await answerHeldOut(model, {}, pictures, meteorScorer(await nodeWordnet()), {
    maxCompletionLength: 16,
    signal,
  });
  const mean = (of: (answer: (typeof own)[number]) => number) =>
    own.reduce((sum, one) => sum + of(one), 0) / own.length;
  return {
    words: mean(({ caption }) => caption.split(" ").length),
    meteor: mean(({ meteor }) => meteor),
    iou: mean(({ iou }) => iou),
  };
}

describe("the vague pocket model", () => {
  it("says less and points as well", async () => {
    const [base, vague] = [await open(POCKET), await open(presetModel("demo"))];
    const [before, after] = [await answers(base), await answers(vague)];
    expect(before.words).toBeGreaterThan(5);
    expect(after.words).toBeLessThan(3);
    expect(after.meteor).toBeLessThan(before.meteor / 2);
    expect(after.iou).toBeGreaterThan(before.iou - 0.05);
    expect(await changedParts(base, vague)).toEqual(["language_model"]);
    base.dispose();
    vague.dispose();
  });

  it("is made from rows with bare captions, and not written over another", async () => {
    const shards = join(scratch, "shards");
    expect((await tool("build-pocket-shards", ["--scenes", "6", "--out", shards])).code).toBe(0);
    const words = [
      "--shards",
      shards,
      "--bare",
      "1",
      "--steps",
      "2",
      "--rate",
      "0.02",
      "--out",
      join(scratch, "vague"),
    ];
    const made = await tool("vague-pocket", words);
    expect(made.code, made.err).toBe(0);
    const [base, vague] = [await open(POCKET), await open(join(scratch, "vague"))];
    expect(await changedParts(base, vague)).toEqual(["language_model"]);
    base.dispose();
    vague.dispose();
    const again = await tool("vague-pocket", words);
    expect([again.code, again.err.includes("nothing was written")]).toEqual([2, true]);
  });
});
