/** A fixed choice of the points of `npm run kill -- --every-call`, which goes through all of them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { smallModel } from "../support/small-model.ts";
import { EveryCall, KINDS, type Kind, type Point } from "./every-call/every-call.ts";
import { exportPoints } from "./every-call/exports.ts";
import type { FileSystemName } from "./every-call/folders.ts";
import { operationPoints } from "./every-call/operations.ts";
import { type SmallRun, smallRun } from "./every-call/small-run.ts";

let run: SmallRun;
const every = new Map<FileSystemName, EveryCall>();
const of = (where: FileSystemName): EveryCall => {
  const known = every.get(where) ?? new EveryCall(run, where);
  every.set(where, known);
  return known;
};
beforeAll(async () => {
  run = await smallRun(smallModel());
});
afterAll(() => run.close());

async function all(points: AsyncGenerator<Point>): Promise<readonly Point[]> {
  const found: Point[] = [];
  for await (const point of points) found.push(point);
  return found;
}
const differing = (points: readonly Point[]) => points.filter(({ differences }) => differences.length > 0);

it.each([
  ["node", "stop", 3],
  ["node", "torn", 60],
  ["node", "power", 150],
  ["browser", "stop", 66],
  ["browser", "power", 90],
  ["browser-without-move", "stop", 150],
  ["node", "full", 30],
  ["browser", "readonly", 20],
  ["node", "withdrawn", 40],
] as const satisfies readonly (readonly [FileSystemName, Kind, number])[])(
  "a run in %s that meets %s at point %i and continues is the run that did not",
  async (where, kind, n) => {
    for await (const point of of(where).points(kind, (found) => found === n)) {
      expect(point).toMatchObject({ where, kind, n, differences: [] });
      return;
    }
    throw new Error(`There is no point ${n}`);
  },
);

it.each(KINDS)(
  "a run that is renamed, deleted, forked or taken over meets %s, and is listed as it is",
  async (kind) => {
    const points = await all(operationPoints(of("browser"), "browser", kind, (n) => n % 37 === 5));
    expect(points.length).toBeGreaterThan(0);
    expect(differing(points)).toEqual([]);
  },
);

it.each(KINDS)("an export that meets %s is whole or not there", async (kind) => {
  const points = await all(exportPoints(of("node"), "node", kind, (n) => n % 301 === 5));
  expect(points.length).toBeGreaterThan(0);
  expect(differing(points)).toEqual([]);
});
