/** Kills drawn by a seed: every run is killed once, twice or three times, resumed, and compared with an undisturbed one. */
import { type Place, SETTINGS } from "./place.ts";
import { differences, type RunFiles } from "./same-run.ts";

export interface Killed {
  /** The moments of its kills. */
  readonly kills: readonly string[];
  /** Differences from the undisturbed run; empty when there are none. */
  readonly differences: readonly string[];
}

/** Uniform numbers in [0, 1): mulberry32. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Processes of one run; more would mean that it makes no progress. */
const MOST_LIVES = 8;

async function killed(place: Place, left: number, next: () => number, whole: RunFiles): Promise<Killed> {
  const run = await place.open();
  const kills: string[] = [];
  const wanted = Math.min(left, 1 + Math.floor(3 * next()));
  try {
    for (let life = 0; life < MOST_LIVES; life++) {
      const moment = kills.length < wanted ? next() : null;
      const { killed: what } = await run.live(moment, next());
      if (what === null) return { kills, differences: differences(whole, await run.files(), SETTINGS.steps) };
      kills.push(what);
    }
    return { kills, differences: [`it did not end in ${MOST_LIVES} lives`] };
  } catch (thrown) {
    return { kills, differences: [String(thrown instanceof Error ? thrown.message : thrown)] };
  } finally {
    await run.close();
  }
}

/** Runs until there were `count` kills; reports each run when it has ended. */
export async function killRuns(
  place: Place,
  count: number,
  seed: number,
  tell: (killed: Killed) => void = () => undefined,
): Promise<readonly Killed[]> {
  const undisturbed = await place.open();
  const next = numbers(seed);
  const all: Killed[] = [];
  try {
    await undisturbed.live(null, 0);
    const whole = await undisturbed.files();
    for (let done = 0, runs = 0; done < count && runs < 2 * count + 2; runs++) {
      const run = await killed(place, count - done, next, whole);
      done += run.kills.length;
      all.push(run);
      tell(run);
    }
  } finally {
    await undisturbed.close();
  }
  return all;
}
