/** A few kills of `npm run train`; `npm run kill` draws any number. */
import { expect, it } from "vitest";
import { smallModel } from "../support/small-model.ts";
import { killRuns } from "./kills.ts";
import { nodePlace } from "./node-place.ts";

const SEED = Number(process.env.LAB_SEED ?? 33);
const KILLS = 2 * Number(process.env.LAB_RUNS ?? 1);

it("a run that is killed while it writes, and resumed, is the run that was not", async () => {
  const place = nodePlace(undefined, smallModel());
  try {
    const runs = await killRuns(place, KILLS, SEED);
    expect(runs.filter(({ differences }) => differences.length > 0)).toEqual([]);
    expect(runs.flatMap(({ kills }) => kills)).toHaveLength(KILLS);
  } finally {
    await place.close();
  }
});
