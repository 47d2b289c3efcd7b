import { type ReactNode, useState } from "react";
import type { ActionRecord } from "../../../../engine/runs/rollouts/records.ts";
import { fixed, NONE, signed } from "../../../styles/format.ts";
import { Segmented } from "../../ui/controls.tsx";
import { TableHead } from "../../ui/table-head.tsx";
import styles from "../details.module.css";
import {
  ACTION_MEASURES,
  type ActionMeasure,
  formatMeasure,
  gridOf,
  measureColour,
  measureOf,
  measureStrength,
} from "./action-colour.ts";
import { FieldGrid } from "./field-grid.tsx";

/** The actions of a completion, coloured by a measure, and as a table. */
export function ActionStrip({ actions }: { readonly actions: readonly ActionRecord[] }): ReactNode {
  const [measure, setMeasure] = useState<ActionMeasure>("logp");
  const [table, setTable] = useState(false);
  const grid = gridOf(actions);
  if (actions.length === 0)
    return <p className={`muted small ${styles.quiet}`}>No actions were recorded for this rollout</p>;
  const chosen = ACTION_MEASURES.find(({ value }) => value === measure);
  return (
    <div>
      <div className="row wrap gap-2 between">
        <Segmented label="Colour by" options={ACTION_MEASURES} value={measure} onChange={setMeasure} />
        <button
          type="button"
          className={`inline-flex align-centre muted framed round-m clear pointer ${styles.toggle}`}
          aria-pressed={table}
          onClick={() => setTable(!table)}
        >
          Table
        </button>
      </div>
      <p className={`muted small ${styles.quiet}`}>{chosen?.help}</p>
      {table ? (
        <ActionTable actions={actions} />
      ) : grid !== null ? (
        <FieldGrid grid={grid} measure={measure} />
      ) : (
        <Tokens actions={actions} measure={measure} />
      )}
    </div>
  );
}

interface TokensProps {
  readonly actions: readonly ActionRecord[];
  readonly measure: ActionMeasure;
}

function Tokens({ actions, measure }: TokensProps): ReactNode {
  return (
    <ol className={`flex wrap m-0 p-0 no-bullets ${styles.tokens}`}>
      {actions.map((action, at) => {
        const missing = measureOf(action, measure) === null;
        return (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: a token's position is its identity
            key={at}
            className={`grid framed round-s ${action.clipped ? styles.clipped : ""}`}
            data-fill
            style={missing ? {} : { background: measureColour(measureStrength(action, measure)) }}
            title={`${action.label} · ${formatMeasure(action, measure)}`}
          >
            <span>{action.label.trim() === "" ? "␣" : action.label}</span>
            <small>{formatMeasure(action, measure)}</small>
          </li>
        );
      })}
    </ol>
  );
}

/** Maximum rows of the table. */
const ROWS = 2048;

function ActionTable({ actions }: { readonly actions: readonly ActionRecord[] }): ReactNode {
  return (
    <div className={styles.scroll}>
      <table className={`small full-width ${styles.actions}`}>
        <TableHead
          columns={["#", "Action", "Id", "log π", "log π old", "log π ref", "Ratio", "KL", "Entropy", "Clip"]}
        />
        <tbody>
          {actions.slice(0, ROWS).map((action, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an action's position is its identity
            <tr key={at}>
              <td>{at + 1}</td>
              <th scope="row">{action.label}</th>
              <td>{action.id}</td>
              <td>{signed(action.logp, 3)}</td>
              <td>{signed(action.oldLogp, 3)}</td>
              <td>{signed(action.refLogp, 3)}</td>
              <td>{fixed(action.ratio, 4)}</td>
              <td>{fixed(action.kl, 4)}</td>
              <td>{fixed(action.entropy, 3)}</td>
              <td>{action.clipped ? "clipped" : NONE}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {actions.length > ROWS && (
        <p className="muted small">
          The first {ROWS} of {actions.length} actions
        </p>
      )}
    </div>
  );
}
