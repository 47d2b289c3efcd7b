/** Dispatches of a decoded token at 1B shapes, from the step that a GPU would record. */
import { expect, it } from "vitest";
import { tokenDispatches } from "../../../bench/tool/dispatch-page.ts";
import { WEIGHT_STORAGES } from "../../../src/engine/gpu/packed/storage.ts";

it.each(WEIGHT_STORAGES)("are at most 14 a layer in %s, with an adapter", (storage) => {
  for (const rows of [1, 8, 16]) expect(tokenDispatches(storage, 16, rows).layer).toBeLessThanOrEqual(14);
  expect(tokenDispatches(storage, 0, 8).layer).toBeLessThanOrEqual(10);
});
