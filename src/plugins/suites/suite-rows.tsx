import { type ReactNode, useMemo, useState } from "react";
import { answerColour, type MaskLayer } from "../../app/components/mask/layers.ts";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { OverlayControls } from "../../app/components/rollout/overlay-controls.tsx";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { RowCards } from "../../app/screens/train/held-out-rows.tsx";
import evalStyles from "../../app/screens/train/train.module.css";
import { fixed } from "../../app/styles/format.ts";
import { signed } from "../../engine/runs/evaluations/difference-text.ts";
import { sourcePictureId } from "../../protocol/data.ts";
import { suiteOf } from "./all.ts";
import { answeredItems, type System } from "./run-suite.ts";
import type { AnsweredItem } from "./suite.ts";
import { SUITE } from "./suite.ts";
import { useSuite } from "./suite-store.ts";
import styles from "./suites.module.css";

const ORDERS = { worst: "Worst first", best: "Best first" } as const;
const CHANGES = { losses: "Losses first", gains: "Gains first" } as const;

type Order = keyof typeof ORDERS | keyof typeof CHANGES;

interface Shown {
  readonly index: number;
  readonly rows: readonly { readonly system: System; readonly row: AnsweredItem; readonly score: number | null }[];
}

/** Every row with its answers, worst first; with an adapter also by the change of the score. */
export function SuiteRows(): ReactNode {
  const { report, items, answers } = useSuite((state) => state);
  const [order, setOrder] = useState<Order>("worst");
  const suite = report === null ? undefined : suiteOf(report.suite);
  const rows = useMemo((): Shown[] => {
    if (report === null || suite === undefined) return [];
    const systems = Object.keys(report.systems) as System[];
    const columns = systems.map((system) => ({ system, answered: answeredItems(items, answers, system) }));
    return items.map((_, index) => ({
      index,
      rows: columns.map(({ system, answered }) => {
        const row = answered[index] as AnsweredItem;
        return { system, row, score: suite.score(row) };
      }),
    }));
  }, [report, suite, items, answers]);
  const sorted = useMemo(() => {
    const key = KEYS[order];
    return [...rows].sort((a, b) => key(a) - key(b));
  }, [rows, order]);
  // Reports of earlier evaluations come without rows.
  if (report === null || items.length === 0) return null;
  const orders = report.difference === null ? ORDERS : { ...ORDERS, ...CHANGES };
  return (
    <section className="grid gap-3 min-0">
      <header className="row wrap gap-2-4 between">
        <h2>Rows</h2>
        <Segmented label="Order" options={orders} value={order} onChange={setOrder} />
        <OverlayControls />
      </header>
      <RowCards rows={sorted} keyOf={({ index }) => index} card={(row) => <Card shown={row} />} testId="suite-cards" />
    </section>
  );
}

const change = ({ rows }: Shown): number => (rows[1]?.score ?? 0) - (rows[0]?.score ?? 0);
const last = ({ rows }: Shown): number => rows.at(-1)?.score ?? 0;
const KEYS: Readonly<Record<Order, (row: Shown) => number>> = {
  worst: last,
  best: (row) => -last(row),
  losses: change,
  gains: (row) => -change(row),
};

function Card({ shown }: { readonly shown: Shown }): ReactNode {
  const { index, rows } = shown;
  const { item } = (rows[0] as Shown["rows"][number]).row;
  return (
    <>
      <p className="flex gap-2 between">
        <span className={styles.asked}>{item.text}</span>
        {rows.length > 1 && <b>{signed(change(shown))}</b>}
      </p>
      <div className={`grid gap-2 ${rows.length > 1 ? evalStyles.pair : ""}`}>
        {rows.map(({ system, row, score }) => (
          <CardAnswer
            key={system}
            name={rows.length > 1 ? system : "Answer"}
            score={score === null ? null : fixed(score, 3)}
            figure={<Figure index={index} row={row} name={system} />}
          >
            <Said row={row} />
          </CardAnswer>
        ))}
      </div>
    </>
  );
}

/** The picture with the truth and the answered masks, each answered mask in the colour of its phrase. */
function Figure(props: { readonly index: number; readonly row: AnsweredItem; readonly name: string }): ReactNode {
  const { index, row, name } = props;
  const answered = row.answer.masks ?? [];
  const [height, width] = row.item.size;
  const layers: MaskLayer[] = [
    ...row.item.masks.map((mask) => ({ role: "given", mask }) as const),
    ...answered.map((mask, at) => ({ role: "policy", mask, colour: answerColour(at) }) as const),
  ];
  return (
    <MaskFigure
      rowId={sourcePictureId(SUITE, index)}
      width={width}
      height={height}
      layers={layers}
      label={`${name}: ${row.answer.text ?? `${answered.length} masks`}`}
      sync={`suite ${row.item.id}`}
    />
  );
}

/** The answer, its grounded phrases in the colours of their masks. */
function Said(props: { readonly row: AnsweredItem }): ReactNode {
  const { text = "", masks } = props.row.answer;
  if (text === "")
    return masks?.length === 1 ? null : <span className="muted">{masks === undefined ? "–" : "no mask"}</span>;
  const parts = text.replaceAll("[SEG]", "").split(/<p>(.*?)<\/p>/gs);
  return (
    <span className="anywhere">
      {parts.map((part, at) =>
        at % 2 === 0 ? (
          part
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
          <u key={at} style={{ textDecorationColor: answerColour((at - 1) / 2), textDecorationThickness: 3 }}>
            {part.trim()}
          </u>
        ),
      )}
    </span>
  );
}

/** An answer in a card: its picture, a name, a score and the answer's text. */
function CardAnswer(props: {
  readonly figure: ReactNode;
  readonly name: string;
  readonly score: string | null;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div>
      {props.figure}
      <p className={`grid ${styles.said}`}>
        <small>
          {props.name} {props.score !== null && <b>{props.score}</b>}
        </small>
        {props.children}
      </p>
    </div>
  );
}
