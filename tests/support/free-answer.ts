/** The path that answers freely, beside the greedy answers and masks of a whole-model golden folder. */
import { expect } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { encodeRle } from "../../src/engine/data/mask/rle.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { FreeAnswer } from "../../src/plugins/try-out/free-answer.ts";
import { loadDeps } from "../../tools/parity/deps.ts";
import { openArrays } from "../../tools/parity/golden-arrays.ts";
import { openAnswering } from "../../tools/parity/sa2va/sa2va-answer.ts";
import { segmentedCase } from "../../tools/parity/sa2va/sa2va-cases.ts";

/**
 * Answers every greedy case of the folder; ids and mask pixels must be the golden ones, and no tensor may stay.
 * @returns the answers by name of the case
 */
export async function expectGoldenAnswers(path: string): Promise<ReadonlyMap<string, FreeAnswer>> {
  const folder = await nodeFolder(path);
  const before = tf.memory().numTensors;
  const answering = await openAnswering(folder, await loadDeps());
  const { cases, rgb } = answering;
  const answers = new Map<string, FreeAnswer>();
  for (const { name, ids } of cases.greedy) {
    const answer = await answering.answer(name);
    if (answer === undefined) throw new Error(`${path} has no case ${name}`);
    expect(answer.ids, name).toEqual(ids);
    answers.set(name, answer);
    if (name !== segmentedCase(cases.cases)?.name) continue;
    const golden = await openArrays(folder, "golden_sam2.safetensors");
    const stored = golden.names.filter((mask) => mask.startsWith("generated.mask."));
    expect(answer.found.length, `masks of ${name}`).toBe(stored.length);
    for (const [at, mask] of stored.entries()) {
      const expected = encodeRle(Uint8Array.from(await golden.read(mask)), rgb.height, rgb.width);
      const found = encodeRle((answer.found[at] as FreeAnswer["found"][number]).mask, rgb.height, rgb.width);
      expect(found, `${name} ${mask}`).toEqual(expected);
    }
  }
  answering.dispose();
  expect(tf.memory().numTensors).toBe(before);
  return answers;
}
