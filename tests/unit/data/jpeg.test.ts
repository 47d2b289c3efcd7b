/** JPEGs under Node against the pixels that Pillow decodes: stored ones, and random ones where Python is there. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { decodeJpeg } from "../../../scripts/lib/node/jpeg-decode.ts";

const STORED = fileURLToPath(new URL("../../fixtures/data/jpeg/", import.meta.url));
const SCRIPT = fileURLToPath(new URL("../../oracle/make_jpegs.py", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";

const found = spawnSync(PYTHON, ["-c", "import numpy, PIL"]).status === 0;
if (!found) console.warn(`Skipped: ${PYTHON} cannot import numpy and Pillow`);

function compare(directory: string): void {
  const wanted = JSON.parse(readFileSync(join(directory, "pillow.json"), "utf8")) as Record<string, string>;
  let [sum, same, total] = [0, 0, 0];
  for (const [name, text] of Object.entries(wanted)) {
    const pixels = Buffer.from(text, "base64");
    const { data, width, height } = decodeJpeg(new Uint8Array(readFileSync(join(directory, name))));
    expect(width * height * 3, name).toBe(pixels.length);
    for (const [at, value] of pixels.entries()) {
      const difference = (data[Math.floor(at / 3) * 4 + (at % 3)] as number) - value;
      if (Math.abs(difference) > 3) expect.fail(`${name}: value ${at} differs by ${difference}`);
      sum += difference;
      same += difference === 0 ? 1 : 0;
      total++;
    }
  }
  expect(Math.abs(sum / total)).toBeLessThan(0.15);
  expect(same / total).toBeGreaterThan(0.85);
}

test("stored pictures of every subsampling have Pillow's colours, neither darker nor brighter", () => compare(STORED));

describe.skipIf(!found)("random pictures", () => {
  const directory = mkdtempSync(join(tmpdir(), "jpeg-"));
  afterAll(() => rmSync(directory, { recursive: true }));

  test("have Pillow's colours", () => {
    execFileSync(PYTHON, [SCRIPT, directory, "7"]);
    compare(directory);
  });
});
