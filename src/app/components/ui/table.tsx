import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { Fragment, type ReactNode, type RefObject, useRef } from "react";
import styles from "./table.module.css";

interface Heading {
  readonly label: string;
  readonly title?: string;
  readonly className?: string | undefined;
}

/** The head of a table, one column heading each. */
export function TableHead({ columns }: { readonly columns: readonly (string | Heading)[] }): ReactNode {
  return (
    <thead>
      <tr>
        {columns.map((column, at) => {
          const { label, ...rest } = typeof column === "string" ? { label: column } : column;
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have the same heading
            <th key={at} scope="col" {...rest}>
              {label}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface TableRows<E extends Element> {
  /** Goes on the element that scrolls. */
  readonly scroller: RefObject<E | null>;
  readonly items: readonly VirtualItem[];
  /** Pixels of the rows above and below those in view. */
  readonly above: number;
  readonly below: number;
  /** Goes on rows whose height differs from the estimate. */
  readonly measure: (row: Element | null) => void;
}

/** The rows of a long table that are in view; only they are drawn. @param height of a row in pixels */
export function useTableRows<E extends Element>(count: number, height: number): TableRows<E> {
  const scroller = useRef<E>(null);
  const list = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
    observeElementRect: observeSize,
  });
  const items = list.getVirtualItems();
  const below = list.getTotalSize() - (items.at(-1)?.end ?? 0);
  return { scroller, items, above: items[0]?.start ?? 0, below, measure: list.measureElement };
}

/** Tells a virtual list the size of its element when it is laid out; its own way lays the screen out at once. */
export function observeSize(
  { scrollElement }: { readonly scrollElement: Element | null },
  tell: (size: { readonly width: number; readonly height: number }) => void,
): () => void {
  const observer = new ResizeObserver(([entry]) => {
    const box = entry?.borderBoxSize[0];
    if (box !== undefined) tell({ width: Math.round(box.inlineSize), height: Math.round(box.blockSize) });
  });
  if (scrollElement !== null) observer.observe(scrollElement);
  return () => observer.disconnect();
}

/** Names with their values at the right. */
export function FactList(props: {
  readonly facts: readonly (readonly [name: string, value: ReactNode])[];
  readonly testId?: string;
}): ReactNode {
  return (
    <dl className={`grid ${styles.facts}`} data-testid={props.testId}>
      {props.facts.map(([name, value]) => (
        <Fragment key={name}>
          <dt className="muted">{name}</dt>
          <dd className="m-0 text-right anywhere">{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
