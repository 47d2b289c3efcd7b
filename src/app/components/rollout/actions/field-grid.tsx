import { type ReactNode, useEffect, useRef, useState } from "react";
import styles from "../details.module.css";
import {
  ACTION_MEASURES,
  type ActionMeasure,
  formatMeasure,
  type GridCells,
  measureColour,
  measureStrength,
} from "./action-colour.ts";

const SIDE = 260;

/** The cells of a mask policy's grid as a heat map, with the value of the cell under the pointer. */
export function FieldGrid(props: { readonly grid: GridCells; readonly measure: ActionMeasure }): ReactNode {
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
