import type { ReactNode } from "react";
import styles from "./try-out.module.css";

/** A few lines of text under their name. */
export function TextArea(props: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly testId: string;
  /** 3 by default. */
  readonly rows?: number;
}): ReactNode {
  return (
    <label className={`column-flex gap-1 ${styles.phrases}`}>
      <span>{props.label}</span>
      <textarea
        className="full-width p-2 surface framed-control round-m"
        rows={props.rows ?? 3}
        value={props.value}
        data-testid={props.testId}
        onChange={(event) => props.onChange(event.currentTarget.value)}
      />
    </label>
  );
}
