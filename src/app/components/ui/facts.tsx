import { Fragment, type ReactNode } from "react";
import styles from "./facts.module.css";

/** Numbers with their names, side by side. */
export function Facts({ entries }: { readonly entries: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className="flex wrap gap-2-4 mt-2">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt className="muted small">{name}</dt>
          <dd className="large bold">{value}</dd>
        </div>
      ))}
    </dl>
  );
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
