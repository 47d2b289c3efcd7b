import { Fragment, type ReactNode } from "react";
import styles from "./table.module.css";

interface Heading {
  readonly label: ReactNode;
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
