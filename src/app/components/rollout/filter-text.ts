/** A filter of rollouts as text in the address: `loop:1 reward:0.2..0.4 is:truncated red cup`. */
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { limitOf, NO_FILTER, type RolloutFilter } from "./rollout-view.ts";

const FLAGS = ["zeroSpread", "truncated", "emptyMask", "unscored"] as const;

/** Null for a filter that lets everything pass. The searched words come last, as they were typed. */
export function filterText(filter: RolloutFilter): string | null {
  const { loop, least, most, text } = filter;
  const parts = [
    ...(loop === null ? [] : [`loop:${loop}`]),
    ...(least === null && most === null ? [] : [`reward:${least ?? ""}..${most ?? ""}`]),
    ...FLAGS.filter((flag) => filter[flag]).map((flag) => `is:${flag}`),
    ...(text === "" ? [] : [text]),
  ];
  return parts.length === 0 ? null : parts.join(" ");
}

/** The filter of a text; words that are not conditions are searched. */
export function parseFilter(written: string | null): RolloutFilter {
  let filter = NO_FILTER;
  let rest = written ?? "";
  for (;;) {
    const [whole, name, value = ""] = /^(loop|reward|is):(\S*)(?: |$)/.exec(rest) ?? [];
    const change = whole === undefined ? null : conditionOf(name as string, value);
    if (whole === undefined || change === null) return { ...filter, text: rest };
    filter = { ...filter, ...change };
    rest = rest.slice(whole.length);
  }
}

function conditionOf(name: string, value: string): Partial<RolloutFilter> | null {
  if (name === "loop") {
    const loop = LOOP_IDS.find((id) => String(id) === value);
    return loop === undefined ? null : { loop };
  }
  if (name === "is") {
    const flag = FLAGS.find((known) => known === value);
    return flag === undefined ? null : { [flag]: true };
  }
  const limits = /^(\S*)\.\.(\S*)$/.exec(value);
  return limits === null ? null : { least: limitOf(limits[1] ?? ""), most: limitOf(limits[2] ?? "") };
}
