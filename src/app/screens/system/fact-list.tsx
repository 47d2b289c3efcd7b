import { Fragment, type ReactNode } from "react";
import styles from "./fact-list.module.css";

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
