/**
 * The losses, gradients, advantages and metrics of the engine against those TRL computes now, of a seed that is not stored.
 * PYTHON names the interpreter; without one that has TRL 1.16 or newer these tests are skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { grpoParity } from "../../../tools/parity/grpo/grpo.ts";

const ORACLE = fileURLToPath(new URL("../../oracle/", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";

function python(...args: string[]): { readonly ok: boolean; readonly text: string } {
  const run = spawnSync(PYTHON, args, { cwd: ORACLE, encoding: "utf8" });
  return { ok: run.status === 0, text: `${run.stdout ?? ""}${run.stderr ?? ""}${run.error?.message ?? ""}` };
}

const NEEDED =
  "import trl, torch; major, minor = trl.__version__.split('.')[:2]; assert (int(major), int(minor)) >= (1, 16)";
const found = python("-c", NEEDED);
if (!found.ok) console.warn(`Skipped: ${PYTHON} cannot import trl 1.16 or newer; set PYTHON to one that can`);

describe.skipIf(!found.ok)("TRL's own loss", () => {
  beforeAll(async () => {
    await tf.setBackend("cpu");
  });

  test.each([21, 22])("the engine equals a set of seed %i, made now", async (seed) => {
    const folder = await mkdtemp(join(tmpdir(), "trl-oracle-"));
    try {
      const made = python("make_trl.py", "--seed", String(seed), "--out", folder);
      expect(made.ok, made.text).toBe(true);
      const rows = [];
      for await (const row of grpoParity(await nodeFolder(folder))) rows.push(row);
      expect(rows.filter((row) => !row.pass || row.tolerance === "not compared")).toEqual([]);
      expect(rows.length).toBe(4156);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
