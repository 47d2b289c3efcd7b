/** naga, the compiler of Firefox and wgpu, accepts every card program that needs no extension it lacks. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { SNAPSHOTS } from "../../scripts/lib/isa/snapshots.ts";
import { HALF_CAST } from "../../src/engine/gpu/runtime/device.ts";
import { askNaga, withoutNaga } from "../support/naga.ts";

interface Found {
  readonly valid: number;
  readonly skipped: readonly string[];
  readonly errors: Readonly<Record<string, string>>;
}

test("naga compiles every card program that a device with it is given", ({ skip }) => {
  const missing = withoutNaga();
  if (missing !== undefined) skip(missing);
  const found = askNaga("naga_check.py", join(root, SNAPSHOTS), HALF_CAST) as Found;
  expect(found.errors).toEqual({});
  expect(found.valid).toBeGreaterThan(150);
  // Subgroup matrices; f16 where the device has none; and halves by a bit cast, which it refuses by the page's own probe.
  const needs = found.skipped.filter((name) => !/-matrices-|-f16$|-f16-/.test(name));
  expect(needs).toEqual([]);
});
