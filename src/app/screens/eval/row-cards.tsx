import { type Key, type ReactNode, useState } from "react";
import { Button } from "../../components/ui/button.tsx";
import styles from "./eval.module.css";

const PAGE = 12;

/** Cards of rows in a grid, more of them on demand. @param card content of a row's card */
export function RowCards<T>(props: {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => Key;
  readonly card: (row: T) => ReactNode;
  readonly testId?: string;
}): ReactNode {
  const { rows, keyOf, card } = props;
  const [shown, setShown] = useState(PAGE);
  return (
    <>
      <ol className={`grid gap-3 m-0 p-0 no-bullets ${styles.grid}`} data-testid={props.testId}>
        {rows.slice(0, shown).map((row) => (
          <li className={`grid gap-2 min-0 p-3 framed round-l surface ${styles.rowCard}`} key={keyOf(row)}>
            {card(row)}
          </li>
        ))}
      </ol>
      {shown < rows.length && (
        <Button kind="quiet" onClick={() => setShown(shown + 4 * PAGE)}>
          Show {Math.min(4 * PAGE, rows.length - shown)} more of {rows.length}
        </Button>
      )}
    </>
  );
}

/** An answer in a card: its picture, a name, a score and the answer's text. */
export function CardAnswer(props: {
  readonly figure: ReactNode;
  readonly name: string;
  readonly score: string | null;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div>
      {props.figure}
      <p className={`grid ${styles.said}`}>
        <small>
          {props.name} {props.score !== null && <b>{props.score}</b>}
        </small>
        {props.children}
      </p>
    </div>
  );
}
