import { type ReactNode, useId } from "react";
import { CopyPanel } from "./copy-panel.tsx";
import styles from "./panel.module.css";

/** A titled area; `aside` is placed at the right of the title. */
export function Panel(props: {
  readonly title: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const title = useId();
  return (
    <section className="min-0 p-4 surface framed round-l" aria-labelledby={title}>
      <header className="row wrap gap-2-3 between mb-3">
        <span className="row gap-1">
          <h2 id={title}>{props.title}</h2>
          <CopyPanel name={props.title} />
        </span>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** Placeholder of an empty area: what is missing and what to do. */
export function Empty(props: {
  readonly title: string;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}): ReactNode {
  return (
    <div className={`column-flex gap-2 align-centre ${styles.empty}`}>
      <h2>{props.title}</h2>
      {props.children !== undefined && <div className={`muted ${styles.words}`}>{props.children}</div>}
      {props.actions !== undefined && <div className={`flex wrap gap-2 mt-2 ${styles.actions}`}>{props.actions}</div>}
    </div>
  );
}
