/**
 * naga, the compiler of Firefox and wgpu, accepts every card program that needs no extension it lacks. PYTHON names an
 * interpreter that has wgpu (PyPI); without one, or without a Vulkan device for it, the test is skipped.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { SNAPSHOTS } from "../../scripts/lib/isa/snapshots.ts";
import { HALF_CAST } from "../../src/engine/gpu/runtime/device.ts";

interface Found {
  readonly valid: number;
  readonly skipped: readonly string[];
  readonly errors: Readonly<Record<string, string>>;
}

test("naga compiles every card program that a device with it is given", ({ skip }) => {
  const interpreter = process.env.PYTHON || "python3";
  const ask = (...args: string[]) => spawnSync(interpreter, args, { encoding: "utf8" });
  const device = ask("-c", "import wgpu; wgpu.gpu.request_adapter_sync()");
  if (device.status !== 0) {
    skip(`${interpreter} has no wgpu with a device; set PYTHON to one that has`);
    return;
  }
  const run = ask(join(root, "tests", "oracle", "naga_check.py"), join(root, SNAPSHOTS), HALF_CAST);
  expect(run.status, run.stderr).toBe(0);
  const found = JSON.parse(run.stdout.trim().split("\n").at(-1) as string) as Found;
  expect(found.errors).toEqual({});
  expect(found.valid).toBeGreaterThan(150);
  // Subgroup matrices; f16 where the device has none; and halves by a bit cast, which it refuses by the page's own probe.
  const needs = found.skipped.filter((name) => !/-matrices-|-f16$|-f16-/.test(name));
  expect(needs).toEqual([]);
});
