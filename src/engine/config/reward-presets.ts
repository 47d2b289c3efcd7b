/**
 * Named reward matrices: three sparse mixes, and a shaped one. The loops' descriptions contain their
 * weights.
 */
import type { TermName } from "../rewards/terms/registry.ts";
import type { LoopAbout } from "../rl/loops/about.ts";
import { LOOPS, type LoopId } from "../rl/loops/abouts.ts";
import { weightKey, weightKeys } from "./groups/reward-weights.ts";
import type { LabConfig } from "./table.ts";

export interface RewardPreset {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly values: Partial<LabConfig>;
}

/** Weights of both loops; an optional loop keeps its weights. */
const NOTHING = Object.fromEntries(weightKeys().map((key) => [key, 0]));

export const REWARD_PRESETS: readonly RewardPreset[] = [
  { name: "standard", title: "Standard" },
  { name: "noJudge", title: "Without a judge" },
  { name: "judgeCaptions", title: "Judge in loop 1" },
  { name: "shaped", title: "Shaped" },
].map(({ name, title }) => {
  const loops = LOOPS.flatMap(({ id, matrices }: LoopAbout<LoopId>) => {
    const own = matrices?.[name];
    return own === undefined ? [] : [{ id, ...own }];
  });
  const weights = loops.flatMap(({ id, terms }) =>
    Object.entries(terms).map(([term, weight]) => [weightKey(id, term as TermName), weight] as const),
  );
  const texts = loops.flatMap(({ id, text }) => (text === undefined ? [] : `loop ${id} ${text}`)).join(", ");
  const summary = `${texts[0]?.toUpperCase()}${texts.slice(1)}`;
  return { name, title, summary, values: { ...NOTHING, ...Object.fromEntries(weights) } };
});
