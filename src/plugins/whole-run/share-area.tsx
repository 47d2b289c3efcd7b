import { type ReactNode, useMemo } from "react";
import { termName } from "../../app/components/rollout/rollout-view.ts";
import { fixed } from "../../app/styles/format.ts";
import styles from "./across.module.css";
import type { StepShares } from "./group-measures.ts";

const [WIDTH, HEIGHT] = [400, 160];

interface Layer {
  readonly name: string;
  /** [x, from, to] per step, in units of rewards. */
  readonly band: readonly (readonly [number, number, number])[];
}

/** Contributions of the terms, stacked over the steps; costs are drawn below zero. */
export function ShareArea({
  shares,
  marked,
}: {
  readonly shares: readonly StepShares[];
  readonly marked: number | null;
}): ReactNode {
  const { layers, low, high } = useMemo(() => stack(shares), [shares]);
  const [first, last] = [shares[0]?.step ?? 0, shares.at(-1)?.step ?? 0];
  const x = (step: number): number => ((step - first) / Math.max(1, last - first)) * WIDTH;
  const areaOf = (band: Layer["band"]): string => {
    // A single step takes the whole width.
    const edge = (of: 1 | 2) => band.map((point, at) => `${last === first ? at * WIDTH : x(point[0])} ${y(point[of])}`);
    return `M${[...edge(2), ...edge(1).reverse()].join("L")}Z`;
  };
  const y = (value: number): number => ((high - value) / (high - low)) * HEIGHT;
  return (
    <div className="grid gap-2">
      <svg
        className={`full-width ${styles.area}`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Contributions of ${layers.map(({ name }) => termName(name)).join(", ")} over ${shares.length} steps`}
      >
        {layers.map(({ name, band }, at) => (
          <path
            key={name}
            fill={colour(at)}
            fillOpacity="0.75"
            d={areaOf(band.length === 1 ? [...band, ...band] : band)}
          />
        ))}
        <line x1="0" x2={WIDTH} y1={y(0)} y2={y(0)} className={styles.zero} />
        {marked !== null && marked >= first && marked <= last && (
          <line x1={x(marked)} x2={x(marked)} y1="0" y2={HEIGHT} className={styles.marked} />
        )}
      </svg>
      <p className="flex between muted tiny">
        <span>step {first}</span>
        <span>{last}</span>
      </p>
      <ul className={`flex wrap gap-2-3 m-0 p-0 no-bullets muted small`}>
        {layers.map(({ name, band }, at) => (
          <li key={name} className="row gap-1">
            <i className={styles.swatch} data-fill style={{ background: colour(at) }} />
            {termName(name)} <b>{fixed(lastOf(band), 3)}</b>
          </li>
        ))}
      </ul>
    </div>
  );
}

function colour(at: number): string {
  return `var(--run-${(at % 6) + 1})`;
}

function lastOf(band: Layer["band"]): number {
  const [, from, to] = band.at(-1) ?? [0, 0, 0];
  return to - from;
}

function stack(shares: readonly StepShares[]): {
  readonly layers: readonly Layer[];
  readonly low: number;
  readonly high: number;
} {
  const names = [...new Set(shares.flatMap(({ terms }) => [...terms.keys()]))];
  const tops = shares.map(() => 0);
  const floors = shares.map(() => 0);
  const layers = names.map((name): Layer => {
    const band = shares.map(({ step, terms }, at) => {
      const value = terms.get(name) ?? 0;
      const side = value < 0 ? floors : tops;
      const from = side[at] as number;
      side[at] = from + value;
      return [step, from, from + value] as const;
    });
    return { name, band };
  });
  return { layers, low: Math.min(0, ...floors), high: Math.max(0.01, ...tops) };
}
