/** Columns of the table of rollouts, and its order. */
import { rleArea } from "../../../engine/data/mask/rle.ts";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { drawnMask, generatedText } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { termName } from "../../components/rollout/rollout-view.ts";
import { fixed, formatShare, NONE, signed } from "../../styles/format.ts";

export interface RolloutColumn {
  readonly id: string;
  readonly label: string;
  /** Sort key of a rollout; null if it is missing. */
  readonly value: (rollout: RolloutRecord) => number | string | null;
  readonly shown: (rollout: RolloutRecord) => string;
  /** Whether it holds text, which is left-aligned. */
  readonly words?: boolean;
}

/** Generated text or mask, reward, advantage, and every term that any of the rollouts has. */
export function rolloutColumns(rollouts: readonly RolloutRecord[]): readonly RolloutColumn[] {
  const terms = new Set(rollouts.flatMap((rollout) => rollout.terms.map(({ name }) => name)));
  const termOf = (rollout: RolloutRecord, name: string): number | null =>
    rollout.terms.find((term) => term.name === name)?.value ?? null;
  const count = (id: string, label: string, value: (rollout: RolloutRecord) => number): RolloutColumn => ({
    id,
    label,
    value,
    shown: (rollout) => String(value(rollout)),
  });
  return [
    count("step", "Step", ({ step }) => step),
    count("loop", "Loop", ({ loop }) => loop),
    count("index", "#", ({ index }) => index + 1),
    {
      id: "text",
      label: "Text",
      value: (rollout) => generatedText(rollout.loop, rollout),
      shown: (rollout) => generatedText(rollout.loop, rollout) ?? NONE,
      words: true,
    },
    { id: "reward", label: "Reward", value: ({ reward }) => reward, shown: ({ reward }) => fixed(reward, 3) },
    {
      id: "advantage",
      label: "Advantage",
      value: ({ advantage }) => advantage,
      shown: ({ advantage }) => signed(advantage, 2),
    },
    ...[...terms].map(
      (name): RolloutColumn => ({
        id: `term ${name}`,
        label: termName(name),
        value: (rollout) => termOf(rollout, name),
        shown: (rollout) => fixed(termOf(rollout, name), 3),
      }),
    ),
    count("length", "Actions", ({ actions }) => actions.length),
    { id: "area", label: "Mask", value: areaOf, shown: (rollout) => shareText(areaOf(rollout)) },
    { id: "row", label: "Row", value: ({ rowId }) => rowId, shown: ({ rowId }) => rowId, words: true },
  ];
}

const shareText = (share: number | null): string => (share === null ? NONE : formatShare(share));

/** Share of the picture that the drawn mask covers; null without a mask. */
function areaOf(rollout: RolloutRecord): number | null {
  const mask = drawnMask(rollout);
  return mask === null ? null : rleArea(mask) / (mask.size[0] * mask.size[1]);
}

/** Rollouts sorted by a column; equal values keep their order, missing values and NaN come last in both directions. */
export function sortByColumn(
  rollouts: readonly RolloutRecord[],
  { value }: RolloutColumn,
  descending: boolean,
): readonly RolloutRecord[] {
  const keyed = rollouts.map((rollout) => ({ rollout, key: value(rollout) }));
  const missing = (key: number | string | null): boolean => key === null || Number.isNaN(key);
  const sign = descending ? -1 : 1;
  keyed.sort(({ key: a }, { key: b }) => {
    if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
    if (typeof a === "string" || typeof b === "string") return sign * String(a).localeCompare(String(b), "en");
    return sign * (Number(a) - Number(b));
  });
  return keyed.map(({ rollout }) => rollout);
}
