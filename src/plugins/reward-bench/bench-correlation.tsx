import { type CSSProperties, type ReactNode, useMemo, useState } from "react";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { fixed, NONE } from "../../app/styles/format.ts";
import styles from "./bench.module.css";
import look from "./bench-correlation.module.css";
import { type MeasurePair, type MeasuresProps, measureName } from "./bench-view.ts";
import { correlation, type Measure, measureOf, summarise } from "./statistics.ts";

/** Ground truth from the data set. */
const TRUTH: readonly Measure[] = ["iou", "meteor"];

/** Correlation of terms with each other and with two ground truths: IoU and METEOR against the data set. */
export function BenchCorrelation(props: MeasuresProps): ReactNode {
  const { groups, measures, selection, onSelect } = props;
  const [inside, setInside] = useState(true);
  const varying = useMemo(() => measures.filter((measure) => summarise(groups, measure).std > 0), [groups, measures]);
  if (varying.length < 2) return <p className="muted small">Correlation needs at least two terms that vary</p>;
  return (
    <section className={`grid gap-3 ${styles.section}`}>
      <header className="row wrap gap-2-3">
        <h3>Correlation</h3>
        <Segmented
          label="Correlation over"
          options={{ inside: "Within groups", all: "Over all rollouts" }}
          value={inside ? "inside" : "all"}
          onChange={(value) => setInside(value === "inside")}
        />
        <span className="muted small">
          Advantages depend only on differences within a group. IoU and METEOR serve as ground truth.
        </span>
      </header>
      <div className={`flex wrap ${look.pairs}`}>
        <div className="scroll-x">
          <table className={look.correlation} data-testid="bench-correlation">
            <thead>
              <tr>
                <td />
                {varying.slice(0, -1).map((measure) => (
                  <th key={measure} scope="col" data-truth={TRUTH.includes(measure)}>
                    {measureName(measure)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {varying.slice(1).map((a, row) => (
                <tr key={a}>
                  <th scope="row" data-truth={TRUTH.includes(a)}>
                    {measureName(a)}
                  </th>
                  {varying.slice(0, -1).map((b, column) => (
                    <td key={b}>
                      {column <= row && <Cell groups={groups} a={a} b={b} inside={inside} onSelect={onSelect} />}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {selection?.kind === "pair" && <Scatter groups={groups} {...selection} />}
      </div>
    </section>
  );
}

function Cell(props: Pick<MeasuresProps, "groups" | "onSelect"> & Pick<MeasurePair, "a" | "b" | "inside">): ReactNode {
  const { groups, a, b, inside, onSelect } = props;
  const value = useMemo(() => correlation(groups, a, b, inside), [groups, a, b, inside]);
  if (value === null) return <span className="muted small">{NONE}</span>;
  const style = { "--share": `${Math.round(Math.abs(value) * 70)}%` } as CSSProperties;
  return (
    <button
      type="button"
      className={`full-width p-0 pointer round-s borderless ${look.cell}`}
      data-sign={value < 0 ? "less" : "more"}
      data-fill
      style={style}
      aria-label={`${measureName(a)} and ${measureName(b)}: ${fixed(value, 2)}`}
      onClick={() => onSelect({ kind: "pair", a, b, inside })}
    >
      {fixed(value, 2)}
    </button>
  );
}

const SIDE = 220;
const MARGIN = 26;

/** Scatter plot of two measures, one point per rollout. */
function Scatter({ groups, a, b }: Pick<MeasuresProps, "groups"> & Pick<MeasurePair, "a" | "b">): ReactNode {
  const points = useMemo(
    () =>
      groups.flatMap((group) =>
        group.rollouts.flatMap((rollout) => {
          const [x, y] = [measureOf(rollout, b), measureOf(rollout, a)];
          return x === null || y === null ? [] : [{ id: rollout.id, x, y }];
        }),
      ),
    [groups, a, b],
  );
  const range = (values: readonly number[]): readonly [number, number] => [
    values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY),
    values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY),
  ];
  const [x0, x1] = range(points.map((point) => point.x));
  const [y0, y1] = range(points.map((point) => point.y));
  const place = (value: number, from: number, to: number): number =>
    MARGIN + ((value - from) / (to - from || 1)) * (SIDE - 2 * MARGIN);
  const labels = [
    [MARGIN, SIDE - 12, "start", fixed(x0, 2)],
    [SIDE - 8, SIDE - 12, "end", fixed(x1, 2)],
    [SIDE / 2, SIDE - 2, "middle", measureName(b)],
    [MARGIN - 4, SIDE - MARGIN, "end", fixed(y0, 2)],
    [MARGIN - 4, 16, "end", fixed(y1, 2)],
  ] as const;
  return (
    <figure className={look.scatter}>
      <svg
        viewBox={`0 0 ${SIDE} ${SIDE}`}
        role="img"
        aria-label={`${points.length} rollouts, ${measureName(b)} across and ${measureName(a)} upwards`}
      >
        <path d={`M${MARGIN} 8V${SIDE - MARGIN}H${SIDE - 8}`} fill="none" stroke="var(--line-control)" />
        {points.map(({ id, x, y }) => (
          <circle
            key={id}
            cx={place(x, x0, x1)}
            cy={SIDE - place(y, y0, y1)}
            r="3"
            fill="var(--run-1)"
            fillOpacity="0.55"
          />
        ))}
        <g fontSize="10" fill="var(--chart-axis)">
          {labels.map(([x, y, anchor, text]) => (
            <text key={`${x} ${y}`} x={x} y={y} textAnchor={anchor}>
              {text}
            </text>
          ))}
        </g>
      </svg>
      <figcaption>
        {measureName(a)} against {measureName(b)}
      </figcaption>
    </figure>
  );
}
