/** A kill of the whole browser while the page trains; `npm run kill -- --where browser` draws any number. */
import { expect, it } from "vitest";
import { browserPlace } from "./browser-place.ts";
import { killRuns } from "./kills.ts";

const SEED = Number(process.env.LAB_SEED ?? 18);
const KILLS = Number(process.env.LAB_RUNS ?? 1);

it("a run whose browser is killed, and resumed in the next one, is the run that was not", async () => {
  const place = await browserPlace();
  try {
    const runs = await killRuns(place, KILLS, SEED);
    expect(runs.filter(({ differences }) => differences.length > 0)).toEqual([]);
    expect(runs.flatMap(({ kills }) => kills)).toHaveLength(KILLS);
  } finally {
    await place.close();
  }
});
