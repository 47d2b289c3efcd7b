/** The parts of a run that several programs computed, or with several settings (`segments` of run.json). */
import { requireConfig } from "../config/parse.ts";
import type { LabConfig } from "../config/table.ts";
import { LAB, type RunManifest } from "./manifest.ts";

type Parted = Pick<RunManifest, "config" | "segments">;

/**
 * The settings of a step, before later parts of the run changed them.
 * @param step from 1
 * @throws LabError naming a stored value that is none of the setting's
 */
export function settingsOf({ config, segments = [] }: Parted, step: number): LabConfig {
  const later = segments.filter(({ fromStep }) => fromStep >= step).reverse();
  const before = later.flatMap(({ changed = {} }) => Object.entries(changed).map(([name, { from }]) => [name, from]));
  return before.length === 0 ? config : requireConfig(Object.fromEntries(before), config, "run.json");
}

/** The settings that the lab continues with: those of its own last part, whatever other programs changed after it. */
export function ownSettings({ config, segments = [] }: Parted): LabConfig {
  const last = segments.findLastIndex(({ engine }) => engine === LAB);
  return settingsOf({ config, segments: segments.slice(last + 1) }, 0);
}

/** Steps in a row that one program computed. */
export interface RunPart {
  readonly first: number;
  readonly last: number;
  /** The program, and where it says so its processes, device and precision. */
  readonly by: string;
  readonly changed: Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>>;
}

/** The parts up to a step, in order; empty if only the lab computed the run, with the same settings. */
export function runParts({ segments = [] }: Pick<RunManifest, "segments">, steps: number): readonly RunPart[] {
  if (segments.length === 0) return [];
  const all = (segments[0]?.fromStep ?? 0) > 0 ? [{ fromStep: 0, engine: LAB }, ...segments] : segments;
  return all.flatMap((part, at): RunPart[] => {
    const [first, last] = [part.fromStep + 1, Math.min(steps, all[at + 1]?.fromStep ?? steps)];
    const { engine, world, device, dtype, changed = {} } = part as (typeof segments)[number];
    const processes = typeof world === "number" ? `${world} ${world === 1 ? "process" : "processes"}` : undefined;
    const by = [engine, processes, device, dtype].filter((word) => typeof word === "string").join(", ");
    return first <= last ? [{ first, last, by, changed }] : [];
  });
}
