import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { fixed, NONE, signed } from "../../app/styles/format.ts";
import type { ActionRecord } from "../../engine/runs/rollouts/records.ts";
import {
  ACTION_MEASURES,
  type ActionMeasure,
  formatMeasure,
  type GridCells,
  gridOf,
  measureColour,
  measureOf,
  measureStrength,
} from "./action-colour.ts";
import styles from "./rollout-tools.module.css";

const SIDE = 260;

/** The cells of a mask policy's grid as a heat map, with the value of the cell under the pointer. */
function FieldGrid(props: { readonly grid: GridCells; readonly measure: ActionMeasure }): ReactNode {
  const { grid, measure } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const scale = Math.max(1, Math.floor(SIDE / Math.max(grid.rows, grid.columns)));
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    context.clearRect(0, 0, grid.columns * scale, grid.rows * scale);
    grid.cells.forEach((action, at) => {
      if (action === null) return;
      context.fillStyle = measureColour(measureStrength(action, measure) * 1.8);
      const [x, y] = [(at % grid.columns) * scale, Math.floor(at / grid.columns) * scale];
      context.fillRect(x, y, scale, scale);
      if (!action.clipped) return;
      context.strokeStyle = "#D55E00";
      context.strokeRect(x + 0.5, y + 0.5, scale - 1, scale - 1);
    });
  }, [grid, measure, scale]);
  const action = pointed === null ? null : (grid.cells[pointed] ?? null);
  const label = ACTION_MEASURES.find(({ value }) => value === measure)?.label;
  return (
    <div className={styles.field}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${label} of ${grid.rows} by ${grid.columns} cells; the table lists the values`}
        width={grid.columns * scale}
        height={grid.rows * scale}
        onMouseMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const column = Math.floor(((event.clientX - box.left) / box.width) * grid.columns);
          const row = Math.floor(((event.clientY - box.top) / box.height) * grid.rows);
          setPointed(row * grid.columns + column);
        }}
        onMouseLeave={() => setPointed(null)}
      />
      <p className={`muted small ${styles.quiet}`}>
        {action === null
          ? `${grid.rows} × ${grid.columns} cells; point at one to read its value`
          : `${action.label} · ${label} ${formatMeasure(action, measure)}`}
      </p>
    </div>
  );
}

/** The actions of a completion, coloured by a measure, and as a table. */
export default function ActionStrip({ actions }: Places["actions"]): ReactNode {
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
          columns={["#", "Action", "Id", "log π", "log π sampling", "log π ref", "Ratio", "KL", "Entropy", "Clip"]}
        />
        <tbody>
          {actions.slice(0, ROWS).map((action, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an action's position is its identity
            <tr key={at}>
              <td>{at + 1}</td>
              <th scope="row">{action.label}</th>
              <td>{action.id}</td>
              <td>{signed(action.logp, 3)}</td>
              <td>{signed(action.samplingLogp, 3)}</td>
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
