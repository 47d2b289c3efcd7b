import { type ReactNode, useState } from "react";
import { Button } from "../../app/components/ui/button.tsx";
import { counted, fixed } from "../../app/styles/format.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import styles from "./across.module.css";
import type { RowDraws } from "./group-measures.ts";

const PAGE = 8;

/** Rows whose groups had equal rewards every time: the policy learns nothing from them. */
export function RowTable(props: {
  readonly rows: readonly RowDraws[];
  readonly onOpen: (group: GroupRecord) => void;
}): ReactNode {
  const { rows, onOpen } = props;
  const [shown, setShown] = useState(PAGE);
  const silent = rows.filter(({ draws, flat }) => flat === draws.length);
  const solved = silent.filter(({ mean }) => (mean ?? 0) >= 0.5).length;
  return (
    <div className="grid gap-2" data-testid="silent-rows">
      <p>
        <b>{silent.length}</b> of {rows.length} rows never gave a learning signal
        {silent.length > 0 && `: ${solved} with a mean reward of 0.5 or more, ${silent.length - solved} below`}
      </p>
      {silent.length > 0 && (
        <ul className={`m-0 p-0 no-bullets ${styles.silent}`}>
          {silent.slice(0, shown).map(({ rowId, draws, mean }) => {
            const last = draws.at(-1) as GroupRecord;
            return (
              <li key={rowId}>
                <button
                  type="button"
                  className="grid gap-2 full-width text-left pointer clear borderless"
                  onClick={() => onOpen(last)}
                >
                  <b>{fixed(mean, 2)}</b>
                  <span className="clip ellipsis nowrap">{last.rollouts[0]?.referenceCaption ?? rowId}</span>
                  <small className="muted nowrap">
                    sampled {counted(draws.length, "time")}, last at step {last.step}
                  </small>
                </button>
              </li>
            );
          })}
        </ul>
      )}
      {shown < silent.length && (
        <Button kind="quiet" onClick={() => setShown(silent.length)}>
          Show all {silent.length}
        </Button>
      )}
    </div>
  );
}
