/** Dynamic sampling (DAPO, 2503.14476): groups whose rewards are equal give no gradient and are replaced by other groups. */
import type { ActionScores, Group, LoopRollouts } from "./group.ts";

/**
 * Replaces groups without spread, round by round, in their places; new groups without spread are dropped.
 * @param first the sampled groups of a loop; owned by the result from now on
 * @param spreads returns whether each of these groups has spread
 * @param again samples a number of further groups
 * @throws what `again` throws; all groups are then freed
 */
export async function resampled(
  first: LoopRollouts,
  rounds: number,
  spreads: (groups: readonly Group[]) => readonly boolean[],
  again: (round: number, count: number) => Promise<LoopRollouts>,
): Promise<LoopRollouts> {
  const samplings = [first];
  const chosen = [...first.groups];
  try {
    for (let round = 1; round <= rounds; round++) {
      const has = spreads(chosen);
      const dull = [...chosen.keys()].filter((place) => has[place] !== true);
      if (dull.length === 0) break;
      const more = await again(round, dull.length);
      samplings.push(more);
      const good = spreads(more.groups);
      for (const [at, group] of more.groups.entries()) {
        const place = good[at] === true ? dull.shift() : undefined;
        if (place === undefined) group.dispose();
        else {
          chosen[place]?.dispose();
          chosen[place] = group;
        }
      }
    }
  } catch (thrown) {
    for (const group of chosen) group.dispose();
    throw thrown;
  }
  return samplings.length === 1 ? first : joined(samplings, chosen);
}

/** Combines the groups of several samplings into one list. */
function joined(samplings: readonly LoopRollouts[], groups: readonly Group[]): LoopRollouts {
  return {
    groups,
    sampled: samplings.flatMap((own) => own.groups),
    score(weights, places, features) {
      const found: ActionScores[] = [];
      for (const sampling of samplings) {
        const own = places.flatMap((place, at) => {
          const inside = sampling.groups.indexOf(groups[place] as Group);
          return inside < 0 ? [] : [{ at, inside }];
        });
        if (own.length === 0) continue;
        const scores = sampling.score(
          weights,
          own.map(({ inside }) => inside),
          own.map(({ at }) => features[at] as (typeof features)[number]),
        );
        for (const [n, { at }] of own.entries()) found[at] = scores[n] as ActionScores;
      }
      return found;
    },
  };
}
