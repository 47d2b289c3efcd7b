import type { ReactNode } from "react";
import styles from "./badge.module.css";

/** A short state label; the colour only repeats the text. */
export function Badge(props: {
  readonly tone?: "neutral" | "accent" | "good" | "warn" | "bad";
  readonly children: ReactNode;
}): ReactNode {
  return (
    <span className={`inline-flex align-centre tiny medium nowrap ${styles.badge} ${styles[props.tone ?? "neutral"]}`}>
      {props.children}
    </span>
  );
}
