import type { ReactNode } from "react";
import { IconMore } from "../ui/icons.tsx";
import { Menu } from "../ui/menu.tsx";
import styles from "./live-chart.module.css";

/** Less frequent actions of a chart. */
export function ChartMenu(props: {
  readonly title: string;
  /** Whether there is a plot to copy and save. */
  readonly drawn: boolean;
  readonly onCopy: () => void;
  readonly onSvg: () => void;
  readonly onMove: ((by: -1 | 1) => void) | undefined;
  readonly onRemove: (() => void) | undefined;
}): ReactNode {
  const { title, drawn, onCopy, onSvg, onMove, onRemove } = props;
  const entries = [
    drawn && { label: "Copy as a picture", act: onCopy },
    drawn && { label: "Save as SVG", act: onSvg },
    onMove !== undefined && { label: "Move earlier", act: () => onMove(-1) },
    onMove !== undefined && { label: "Move later", act: () => onMove(1) },
    onRemove !== undefined && { label: "Remove", act: onRemove },
  ].filter((entry) => entry !== false);
  if (entries.length === 0) return null;
  return (
    <Menu
      entries={entries}
      trigger={
        <button type="button" className={styles.tool} aria-label={`More actions for ${title}`} title="More">
          <IconMore size={12} />
        </button>
      }
    />
  );
}
