import { parseConfig } from "../../../engine/config/parse.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import { toLabError } from "../../../engine/errors.ts";
import { forkConfig } from "../../../engine/runs/library/fork.ts";

/**
 * Settings from "name=value" pairs; a value may contain further equals signs.
 * @param step of the checkpoint that the fork continues from
 */
export function readChanges(
  text: string,
  parent: LabConfig,
  step: number,
): { readonly given: Partial<LabConfig> } | { readonly problem: string } {
  const pairs = text.split(/[\s,]+/).filter(Boolean);
  const bare = pairs.find((pair) => !/^\w+=\S+$/.test(pair));
  if (bare !== undefined) return { problem: `Write settings as name=value, not "${bare}"` };
  const named = pairs.map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  const { given, problems, unknown } = parseConfig(Object.fromEntries(named), parent);
  const problem = problems[0] ?? (unknown[0] === undefined ? null : `There is no setting "${unknown[0]}"`);
  if (problem !== null) return { problem };
  try {
    forkConfig(parent, given, step);
    return { given };
  } catch (thrown) {
    return { problem: toLabError(thrown).message };
  }
}
