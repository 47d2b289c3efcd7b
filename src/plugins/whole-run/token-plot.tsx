import type { ReactNode } from "react";
import { compact, counted, fixed } from "../../app/styles/format.ts";
import styles from "./across.module.css";
import type { TokenPlace } from "./group-measures.ts";

/** Maximum number of positions shown; few completions reach the later ones. */
const SHOWN = 48;

const LINES = [
  { key: "advantage", label: "|Advantage|", show: (value: number) => fixed(value, 2) },
  { key: "entropy", label: "Entropy, nats", show: (value: number) => fixed(value, 2) },
  { key: "kl", label: "KL, nats", show: compact },
] as const;

/** One strip per quantity, one cell per token: |advantage|, entropy and KL by position in the completion. */
export function TokenPlot({ places }: { readonly places: readonly TokenPlace[] }): ReactNode {
  const shown = places.slice(0, SHOWN);
  return (
    <div className="grid gap-3">
      {LINES.map(({ key, label, show }) => {
        const values = shown.map((place) => place[key]);
        const most = Math.max(...values.map((value) => value ?? 0));
        if (values.every((value) => value === null)) return null;
        return (
          <div key={key} className="grid gap-1">
            <p className="flex between muted small">
              <span>{label}</span>
              <span>up to {show(most)}</span>
            </p>
            <ol
              className={`flex m-0 p-0 no-bullets ${styles.strip}`}
              aria-label={`${label} by position in the completion`}
            >
              {values.map((value, at) => (
                <li
                  // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                  key={at}
                  title={`Token ${at + 1}: ${value === null ? "–" : show(value)}, ${counted(shown[at]?.actions ?? 0, "rollout")}`}
                  data-fill
                  style={{ opacity: value === null || most === 0 ? 0.06 : 0.06 + 0.94 * (value / most) }}
                />
              ))}
            </ol>
          </div>
        );
      })}
      <p className="flex between muted tiny">
        <span>first token</span>
        <span>{shown.length}</span>
      </p>
    </div>
  );
}
