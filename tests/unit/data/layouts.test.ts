/** Layouts that other libraries write, read to the region: stored ones, and all of them afresh where Python is there. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { expectedLayouts, readLayout } from "../../support/layouts.ts";
import { arePluggedIn } from "../../support/plugins.ts";

const STORED = fileURLToPath(new URL("../../fixtures/data/layouts/", import.meta.url));
const SCRIPT = fileURLToPath(new URL("../../oracle/make_regions.py", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";

const found = spawnSync(PYTHON, ["-c", "import datasets, pyarrow, PIL, pycocotools"]).status === 0;
if (!found) console.warn(`Skipped: ${PYTHON} cannot import datasets, pyarrow, Pillow and pycocotools`);

/** Written with a compression that the core does not read. */
const COMPRESSED = ["feather", "parquet-zstd", "parquet-nested-v2"];

async function compare(directory: string): Promise<void> {
  const wrong: unknown[] = [];
  for (const [name, expected] of await expectedLayouts(directory)) {
    if (COMPRESSED.includes(name) && !arePluggedIn("codecs")) continue;
    const { set, regions } = await readLayout(join(directory, name));
    if (JSON.stringify(regions) !== JSON.stringify(expected)) {
      wrong.push({ name, skipped: set.skipped.map(({ reason }) => reason), regions, expected });
    }
  }
  expect(wrong).toEqual([]);
}

test("stored layouts read to the masks, captions and pictures that were written", () => compare(STORED));

describe.skipIf(!found)("fresh layouts", () => {
  const directory = mkdtempSync(join(tmpdir(), "layouts-"));
  afterAll(() => rmSync(directory, { recursive: true }));

  test("all that datasets, pyarrow and Pillow write", async () => {
    execFileSync(PYTHON, [SCRIPT, directory], { stdio: ["ignore", "ignore", "pipe"] });
    await compare(directory);
  });
});
