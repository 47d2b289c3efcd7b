/** Dispatches of a decoded token at 1B shapes, from the step that a GPU would record. */
import { expect, it } from "vitest";
import { tokenDispatches } from "../../../bench/tool/dispatch-page.ts";
import { WEIGHT_STORAGES } from "../../../src/engine/gpu/packed/storage.ts";
import { FULL_SAMPLING, sampleStep } from "../../../src/engine/policy/decode/sampler.ts";

it.each(WEIGHT_STORAGES)("are at most 14 a layer in %s, with an adapter", (storage) => {
  for (const rows of [1, 8, 16]) expect(tokenDispatches(storage, 16, rows).layer).toBeLessThanOrEqual(14);
  expect(tokenDispatches(storage, 0, 8).layer).toBeLessThanOrEqual(10);
});

it("that draw for a thousand rows of a published model have grids that every device takes", () => {
  const none = { size: 0 } as GPUBuffer;
  const buffers = { logits: none, state: none, seen: none, parts: none, drawn: none };
  const step = sampleStep(buffers, { vocabSize: 151_674, slots: 1024, rows: 1024 }, FULL_SAMPLING, false, false);
  expect(Math.max(...step.flatMap(({ grid }) => [...grid({ slots: 1024 })].map(Number)))).toBeLessThanOrEqual(65_535);
});
