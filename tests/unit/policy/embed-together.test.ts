/** Prompts of one picture's regions in one batch are those prompts one by one. */
import { beforeAll, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { projectVisual } from "../../../src/engine/model/families/internvl/family.ts";
import { openSa2va } from "../../../src/engine/model/sa2va.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { embedPrompt, embedTogether } from "../../../src/engine/policy/embedding.ts";
import { disposeFeatures, encodeImage } from "../../../src/engine/policy/features.ts";
import { captionPrompt } from "../../../src/engine/policy/prompts.ts";
import { pocketPicture } from "../../../tools/pocket/world/samples.ts";

beforeAll(() => tf.setBackend("cpu"));

type Inside = (cell: number) => boolean;
const first: Inside = (cell) => cell === 1;
const all: Inside = () => true;
const some: Inside = (cell) => cell % 2 === 0;

it.each([
  { name: "of one cell, of all and of some", chosen: [first, all, some] },
  { name: "of a single region", chosen: [first] },
  { name: "of regions alike", chosen: [all, all] },
])("regions $name", async ({ chosen }) => {
  const model = await openSa2va(await nodeFolder("tests/golden/sa2va-tiny-qwen2"), "qwen2");
  const weights = weightsView(new Map([...model.frozen, ...model.base]), {}, 0);
  const features = await encodeImage(model, pocketPicture(3, 1, 2, 128).rgb, 1);
  const before = tf.memory().numTensors;
  const projected = projectVisual(weights, features.vision);
  const cells = model.config.tokenGridSide ** 2;
  const prompts = chosen.map((inside) =>
    captionPrompt(
      model,
      features,
      Uint8Array.from({ length: cells }, (_, at) => Number(inside(at))),
    ),
  );
  const { prefix, tails, tailLengths } = embedTogether(model, weights, prompts, projected);
  const [rows, longest, width] = tails.shape as [number, number, number];
  const shared = prefix.shape[1] as number;
  expect(rows).toBe(prompts.length);
  expect(shared).toBeGreaterThanOrEqual((prompts[0]?.imageSpan.end ?? 0) - 1);
  for (const [at, prompt] of prompts.entries()) {
    const whole = embedPrompt(model, weights, prompt, prompt.ids, projected, [prompt.cells]);
    const length = tailLengths[at] as number;
    const joined = tf.tidy(() => tf.concat([prefix, tf.slice(tails, [at, 0, 0], [1, length, width])], 1));
    expect(joined.shape).toEqual(whole.shape);
    expect(await joined.data()).toEqual(await whole.data());
    const rest = tf.tidy(() =>
      tf
        .slice(tails, [at, length, 0], [1, longest - length, width])
        .abs()
        .sum(),
    );
    expect((await rest.data())[0]).toBe(0);
    tf.dispose([whole, joined, rest]);
  }
  tf.dispose([prefix, tails, projected]);
  expect(tf.memory().numTensors).toBe(before);
  disposeFeatures(features);
  model.dispose();
});
