import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { boundaryScore, regionSimilarity } from "../../../src/plugins/clips/boundary.ts";
import { clipOrder } from "../../../src/plugins/clips/sam2/clip.ts";
import {
  maskletScore,
  meanScore,
  roundedScore,
  scoreByType,
  scoreLine,
} from "../../../src/plugins/suites/masklet-score.ts";
import { videoScoresParity } from "../../../tools/parity/video/video-scores.ts";

const GOLDEN = fileURLToPath(new URL("../../golden/video/", import.meta.url));

it("J and F equal those of the field's programs", async () => {
  const rows = [];
  for await (const row of videoScoresParity(await nodeFolder(GOLDEN))) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBe(25);
});

it("means are taken over frames, expressions and kinds", () => {
  const mask = (...data: number[]) => ({ data, height: 2, width: 2 });
  const score = maskletScore([mask(1, 1, 0, 0), mask(0, 0, 0, 0)], [mask(1, 0, 0, 0), mask(0, 0, 0, 0)]);
  expect(score.frames.map(({ j }) => j)).toEqual([0.5, 1]);
  expect([score.j, score.jf]).toEqual([0.75, (0.75 + score.f) / 2]);
  expect(
    meanScore([
      { j: 0.2, f: 0.4 },
      { j: 0.4, f: 0.8 },
    ]).jf,
  ).toBeCloseTo(0.45, 12);
  const kinds = scoreByType([
    { j: 0.10004, f: 0.20004, type: 0 },
    { j: 0.10004, f: 0.20008, type: 0 },
    { j: 0.5, f: 0.5, type: 1 },
    { j: 0.7, f: 0.7, type: 1 },
    { j: 0, f: 0, type: 2 },
  ]);
  // J and F are rounded, J&F is not: 15.0025 %, where rounded sums give 15.005 %.
  expect(Object.values(kinds.type0 ?? {}).map((score) => score.toFixed(9))).toEqual([
    "0.100000000",
    "0.200050000",
    "0.150025000",
  ]);
  expect(kinds.type1?.j).toBeCloseTo(0.6, 12);
  expect(kinds.overall?.j).toBeCloseTo(0.35, 12);
  // A middle goes to the even digit, as in Python: 3.125 % and 9.375 %.
  const rounded = [1 / 32, 3 / 32, 0.12345, 2 / 3].map((score) => roundedScore(score).toFixed(9));
  expect(rounded).toEqual(["0.031200000", "0.093800000", "0.123500000", "0.666700000"]);
  expect(scoreByType([{ j: 1, f: 1, type: 0 }]).overall).toBeUndefined();
  const types = [0, 0, 1, 2].map((type) => ({ j: Number(type > 0), f: Number(type > 0), type }));
  expect(scoreLine(types)).toBe("4 masklets  J 50.00  F 50.00  J&F 50.00  (mean of both kinds)");
  expect(scoreLine(types.map(({ j, f }) => ({ j, f: f / 2 })))).toBe("4 masklets  J 50.00  F 25.00  J&F 37.50");
  expect(() => meanScore([])).toThrow(/No expression/);
  expect(() => maskletScore([mask(1, 1, 1, 1)], [])).toThrow(/0 frames/);
  const tall = { data: [1, 0], height: 2, width: 1 };
  expect(() => regionSimilarity(mask(0, 0, 0, 0), tall)).toThrow(/2 x 2 and 2 x 1/);
  expect(() => boundaryScore(tall, { ...tall, data: [1] })).toThrow(/compared/);
});

it("the clip is gone through from its conditioning frames to both ends", () => {
  expect(clipOrder(6, [0, 1])).toEqual([0, 1, 2, 3, 4, 5]);
  expect(clipOrder(6, [2, 4])).toEqual([2, 4, 3, 5, 1, 0]);
});
