import { type KeyboardEvent, type PointerEvent, type ReactNode, useMemo, useRef, useState } from "react";
import type { FilteredRows } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { ANY, isAny, isWithin, type Limits, wordCount } from "../../engine/data/row-filter.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import styles from "./row-histograms.module.css";

/** Maximum bars of a histogram of words. */
const BARS = 20;

/** Ends of bars within a power of ten: about equal on a logarithmic scale, and short as text. */
const ENDS = [1, 1.5, 2, 3, 5, 7];
const AREA_ENDS = [0.001, 0.01, 0.1].flatMap((decade) => ENDS.map((end) => Number((end * decade).toPrecision(2))));

/** Bars of a logarithmic scale of shares 0..1, from the first with a value to the last. */
export function areaBars(shares: readonly number[]): readonly Limits[] {
  const bars = [ANY[0], ...AREA_ENDS].map((least, at): Limits => [least, AREA_ENDS[at] ?? 1]);
  const filled = countIn(shares, bars);
  return bars.slice(
    filled.findIndex((count) => count > 0),
    filled.findLastIndex((count) => count > 0) + 1,
  );
}

/** Bars of equal width over whole numbers; the largest one per cent of the numbers may share the last bar. */
export function wordBars(words: readonly number[]): readonly Limits[] {
  const sorted = [...words].sort((a, b) => a - b);
  const [least = 0, most = 0] = [sorted[0], sorted[Math.ceil(0.99 * (sorted.length - 1))]];
  const width = Math.ceil((most - least + 1) / BARS);
  const count = Math.ceil((most - least + 1) / width);
  return Array.from({ length: count }, (_, at): Limits => {
    const from = least + at * width;
    return [from, at === count - 1 && (sorted.at(-1) ?? 0) >= from + width ? ANY[1] : from + width - 1];
  });
}

/** Number of values in each bar; a share on the border of two bars counts in both, as in a filter. */
export function countIn(values: readonly number[], bars: readonly Limits[]): readonly number[] {
  return bars.map((bar) => values.reduce((sum, value) => sum + (isWithin(value, bar) ? 1 : 0), 0));
}

interface Measure {
  readonly key: "area" | "words";
  readonly label: string;
  readonly value: (row: RegionSummary) => number;
  readonly bars: (values: readonly number[]) => readonly Limits[];
  readonly text: (value: number) => string;
}

const MEASURES: readonly Measure[] = [
  {
    key: "area",
    label: "Mask share",
    value: ({ maskShare }) => maskShare,
    bars: areaBars,
    text: (share) => `${Number((100 * share).toPrecision(3))} %`,
  },
  { key: "words", label: "Words in caption", value: ({ caption }) => wordCount(caption), bars: wordBars, text: String },
];

/** Mask shares and caption lengths of all rows and, darker, of the shown ones; bars set the range of the filter. */
export default function RowHistograms(props: FilteredRows): ReactNode {
  return (
    <div className={`grid gap-2-4 ${styles.histograms}`} data-testid="row-histograms">
      {MEASURES.map((measure) => (
        <Histogram key={measure.key} measure={measure} {...props} />
      ))}
    </div>
  );
}

function Histogram(props: FilteredRows & { readonly measure: Measure }): ReactNode {
  const { rows, shown, filter, onFilter, measure } = props;
  const { key, label, text } = measure;
  const toolbar = useRef<HTMLDivElement>(null);
  const [reached, setReached] = useState(0);
  /** Bar at which a drag or a keyboard range begins. */
  const anchor = useRef<number | null>(null);
  const values = useMemo(() => rows.map(measure.value), [rows, measure]);
  const bars = useMemo(() => measure.bars(values), [values, measure]);
  const all = useMemo(() => countIn(values, bars), [values, bars]);
  const now = useMemo(() => countIn(shown.map(measure.value), bars), [shown, bars, measure]);
  const most = Math.max(1, ...all);
  const limits = filter[key];
  if (bars.length < 2) return null;

  const pick = (from: number, to: number): void => {
    const [first, last] = [bars[Math.min(from, to)], bars[Math.max(from, to)]];
    if (first === undefined || last === undefined) return;
    const next: Limits = [first[0], last[1]];
    if (String(next) !== String(limits)) onFilter({ ...filter, [key]: next });
  };
  const barAt = (event: PointerEvent<HTMLDivElement>): number => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    return Math.min(bars.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * bars.length)));
  };
  const move = (event: KeyboardEvent): void => {
    const to = { ArrowLeft: reached - 1, ArrowRight: reached + 1, Home: 0, End: bars.length - 1 }[event.key];
    if (to === undefined || bars[to] === undefined) return;
    event.preventDefault();
    setReached(to);
    toolbar.current?.querySelectorAll("button")[to]?.focus();
    if (event.shiftKey) {
      anchor.current ??= reached;
      pick(anchor.current, to);
    } else anchor.current = null;
  };

  return (
    <section className={`grid gap-2 ${styles.histogram}`} aria-label={label}>
      <div className="small">
        <p className="medium nowrap">{label}</p>
        <span className="row gap-1 muted nowrap">
          <Button
            kind="quiet"
            className={styles.all ?? ""}
            aria-pressed={isAny(limits)}
            onClick={() => onFilter({ ...filter, [key]: ANY })}
          >
            All
          </Button>
          {!isAny(limits) && rangeText(limits, text)}
        </span>
      </div>
      <div className="min-0">
        <div
          ref={toolbar}
          className={`flex ${styles.bars}`}
          role="toolbar"
          aria-label={`Range of ${label.toLowerCase()}`}
          onKeyDown={move}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            anchor.current = barAt(event);
            pick(anchor.current, anchor.current);
          }}
          onPointerMove={(event) => {
            if (anchor.current !== null && event.currentTarget.hasPointerCapture(event.pointerId))
              pick(anchor.current, barAt(event));
          }}
          onLostPointerCapture={() => {
            anchor.current = null;
          }}
        >
          {bars.map((bar, at) => {
            const told = `${rangeText(bar, text)}: ${now[at]} of ${all[at]} rows`;
            return (
              <button
                key={bar[0]}
                type="button"
                className="relative p-0 borderless clear pointer lit"
                aria-label={told}
                title={told}
                aria-pressed={!isAny(limits) && limits[0] <= bar[0] && bar[1] <= limits[1]}
                tabIndex={at === Math.min(reached, bars.length - 1) ? 0 : -1}
                onFocus={() => setReached(at)}
                onClick={() => pick(at, at)}
              >
                {[all[at] ?? 0, now[at] ?? 0].map((count, layer) => (
                  <i
                    // biome-ignore lint/suspicious/noArrayIndexKey: all rows, then the shown ones
                    key={layer}
                    className="absolute"
                    data-shown={layer === 1}
                    data-fill
                    style={{ height: count === 0 ? 0 : `max(2px, ${(100 * count) / most}%)` }}
                  />
                ))}
              </button>
            );
          })}
        </div>
        <div className="flex muted tiny nowrap" aria-hidden="true">
          {bars.map((bar, at) => (
            <span key={bar[0]} className="grow min-0">
              {at % Math.ceil(bars.length / 6) === 0 && text(Math.max(0, bar[0]))}
            </span>
          ))}
        </div>
      </div>
    </section>
  );
}

function rangeText([least, most]: Limits, text: (value: number) => string): string {
  if (least === most) return text(least);
  if (least === ANY[0]) return `up to ${text(most)}`;
  return most === ANY[1] ? `from ${text(least)}` : `${text(least)} to ${text(most)}`;
}
