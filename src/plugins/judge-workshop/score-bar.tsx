import type { ReactNode } from "react";
import styles from "./workshop.module.css";

/** A range on the score scale, −1 to 1. @param props.label accessible name; a bar beside its number has none */
export function ScoreBar(props: {
  readonly from: number;
  readonly to: number;
  readonly label?: string;
  readonly negative?: boolean;
}): ReactNode {
  const { from, to, label, negative = false } = props;
  const place = (value: number): number => 50 + 50 * Math.max(-1, Math.min(1, value));
  return (
    <span
      className={`block relative ${styles.scale}`}
      data-negative={negative}
      {...(label === undefined ? { "aria-hidden": true } : { role: "img", "aria-label": label })}
    >
      <span data-fill style={{ left: `${Math.min(98, place(from))}%`, right: `${100 - place(to)}%` }} />
    </span>
  );
}
