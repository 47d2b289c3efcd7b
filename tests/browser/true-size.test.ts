/** A folder like a published one, small: the way that tests/scripts/true-size.ts takes with one of true size. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { writePublished } from "../../bench/made-up/published.ts";
import { WAIT } from "../support/hang.ts";
import { walkTrueSize } from "../support/true-walk.ts";

const folder = mkdtempSync(join(tmpdir(), "lab-true-size-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("a dropped checkpoint trains and resumes from its last checkpoint after a reload, a kill and a closed tab", async () => {
  writePublished(folder, "small");
  const walk = await walkTrueSize({ folder, wait: WAIT, settings: { weightStorage: "f16", towerStorage: "same" } });
  expect(walk.consoleErrors).toEqual([]);
  expect(walk.answers?.said.join()).toMatch(/Encoding/);
  expect(walk.answers?.masks).toBe(1);
  expect(walk.run).toEqual({ leftAt: [1, 2, 3], resumedAt: [1, 2, 3] });
  for (const { what, megabytes } of walk.parts) {
    expect(megabytes.renderer, what).toBeGreaterThan(10);
    expect(megabytes.GPU, what).toBeGreaterThan(10);
  }
});
