/** Long tables of which only the rows in view are drawn. */
import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type RefObject, useRef } from "react";
import { observeSize } from "../../app/components/ui/table.tsx";

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
