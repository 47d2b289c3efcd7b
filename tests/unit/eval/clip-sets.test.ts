/** Small sets of clips in the published layouts, scored by the suites and by an independent program. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { decodeRle, encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { uniform } from "../../../src/engine/gpu/random.ts";
import { suiteOf } from "../../../src/plugins/suites/all.ts";
import { openEvalFolder, suiteRowsHash } from "../../../src/plugins/suites/folder.ts";
import { suiteReport } from "../../../src/plugins/suites/report.ts";
import type { SuiteRow } from "../../../src/plugins/suites/run-suite.ts";
import type { Suite } from "../../../src/plugins/suites/suite.ts";

const PYTHON = process.env.PYTHON || "python3";
const PROGRAM = join(root, "tests/oracle/clip_sets.py");
const found = spawnSync(PYTHON, ["-c", "import cv2, pyarrow, PIL, pycocotools"]).status === 0;
if (!found) process.stderr.write(`skipped: ${PYTHON} cannot import cv2, pyarrow, PIL and pycocotools\n`);

describe.skipIf(!found)("clips in the published layouts", () => {
  let place: string;
  beforeAll(async () => {
    place = await mkdtemp(join(tmpdir(), "clip-sets-"));
    const clips = join(root, "public/pocket/clips");
    execFileSync(PYTHON, [PROGRAM, "make", "--clips", clips, "--seed", "5", "--out", place]);
  });
  afterAll(() => rm(place, { recursive: true }));

  it.each([
    ["refytvos", "train"],
    ["mevis", "valid_u"],
    ["revos", "valid"],
    ["refdavis", "valid"],
    ["refsav", "valid"],
  ])("%s is scored as by its program", async (name, split) => {
    const suite = suiteOf(name) as Suite;
    const { items, leftOut, clip } = await suite.open(await nodeFolder(join(place, name)), split);
    expect(leftOut).toEqual(
      name === "refdavis"
        ? ["valid/mask_dict.pkl was not read, because a pickle can contain code; masks are read from PNG or JSON"]
        : [],
    );
    expect(items.length).toBeGreaterThan(3);
    const facts = {
      suite: name,
      split,
      answers: "free",
      model: { name: "m", hash: "1" },
      adapter: null,
      rows: items.length,
      rowsHash: await suiteRowsHash(suite, items, (at) => clip?.(at).names.join() ?? ""),
    } as const;
    const folder = await openEvalFolder(nodeStore(place), `${name}-eval`, facts);
    // Every fifth row has no masklet; the others lose a corner of each mask and gain another.
    const answers = items.map(
      ({ id: rowId, masks }, row): SuiteRow => ({
        system: "base",
        rowId,
        masks: row % 5 === 4 ? [] : masks.map((mask, frame) => damaged(mask, row, frame)),
      }),
    );
    await folder.items(items);
    await folder.add(answers);
    const evaluated = {
      suite,
      split,
      part: "all",
      looks: 1,
      mode: "free",
      items,
      leftOut: 0,
      systems: ["base"],
      judge: null,
    } as const;
    await folder.report(suiteReport(evaluated, folder.answers, { meteor: () => 0 }));
    const words = [
      "check",
      "--set",
      name,
      "--data",
      join(place, name),
      "--eval",
      join(place, `${name}-eval`),
      "--split",
      split,
    ];
    const { status, stdout, stderr } = spawnSync(PYTHON, [PROGRAM, ...words], { encoding: "utf8" });
    expect(status, stdout + stderr).toBe(0);
    const { rows, scores } = JSON.parse(stdout) as { rows: number; scores: Record<string, number> };
    expect(rows).toBe(items.length);
    const kinds = { revos: ["J", "F", "J&F", "A", "R"], refsav: ["J", "F", "J&F", "A"] }[name];
    expect(Object.keys(scores).filter((metric) => !metric.includes(" "))).toEqual(kinds ?? ["J", "F", "J&F"]);
    for (const value of Object.values(scores)) expect(value > 0 && value < 1).toBe(true);
  });
});

/** The mask with a random rectangle turned over. */
function damaged(mask: Rle, row: number, frame: number): Rle {
  const [height, width] = mask.size;
  const pixels = decodeRle(mask);
  const draw = (position: number): number =>
    uniform({ seed: 9, step: row, loop: 0, row: frame, rollout: 0, position, stream: 1 });
  const [top, left] = [Math.floor(draw(0) * height), Math.floor(draw(1) * width)];
  for (let y = top; y < Math.min(height, top + 12); y++) {
    for (let x = left; x < Math.min(width, left + 15); x++) {
      pixels[y * width + x] = 1 - (pixels[y * width + x] as number);
    }
  }
  return encodeRle(pixels, height, width);
}
