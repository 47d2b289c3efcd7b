/** The checks of the open data: failed ones above the rows. */
import type { ReactNode } from "react";
import type { SetInfo } from "../../../engine/data/set-info.ts";
import { counted, sentence } from "../../styles/format.ts";
import styles from "./data.module.css";

type Check = SetInfo["checks"][number];

/** Summary of the checks for the bar. */
export function checksWord(checks: SetInfo["checks"]): {
  readonly tone: "good" | "warn" | "bad";
  readonly word: string;
} {
  const failed = checks.filter(({ name, ok }) => !ok && name !== "ready for training");
  if (checks.some((check) => check.blocks && !check.ok))
    return { tone: "bad", word: "Checks: training is not possible" };
  if (failed.length > 0) return { tone: "warn", word: `Checks: ${counted(failed.length, "warning")}` };
  return { tone: "good", word: "Checks: all passed" };
}

/** Every failed check with its sentence; nothing when all passed. */
export function FailedChecks(props: { readonly checks: SetInfo["checks"] }): ReactNode {
  const failed = props.checks.filter((check) => !check.ok && check.name !== "ready for training");
  if (failed.length === 0) return null;
  return (
    <ul
      className={`column-flex gap-1 m-0 bad no-bullets bad-soft anywhere ${styles.failed}`}
      role="alert"
      data-testid="failed-checks"
    >
      {failed.map((check) => (
        <li key={check.name}>
          <strong>{labelOf(check)}</strong> {sentence(check.detail)}
        </li>
      ))}
    </ul>
  );
}

const LABELS: Readonly<Record<Check["name"], string>> = {
  "data set loaded": "Rows",
  "shards read": "Shards",
  "data set named": "Data set",
  "pictures decode": "Pictures",
  "masks decode": "Masks",
  "captions found": "Captions",
  "words separated": "Words",
  "captions describe their mask": "Meaning",
  "batch built": "Batch",
  "ready for training": "Training",
};

export const labelOf = ({ name }: Check): string => LABELS[name];
