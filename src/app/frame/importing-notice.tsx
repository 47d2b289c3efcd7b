import type { ReactNode } from "react";
import { useSession } from "../stores/session.ts";
import styles from "./problems.module.css";

/** Names the dropped files that are being read as a run. */
export function ImportingNotice(): ReactNode {
  const name = useSession((session) => session.importing);
  return (
    name !== null && (
      <p className={`anywhere ${styles.interrupted}`} role="status" data-testid="importing">
        Reading {name} and checking its files…
      </p>
    )
  );
}
