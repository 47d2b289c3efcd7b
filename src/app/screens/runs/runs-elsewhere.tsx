import type { ReactNode } from "react";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table.tsx";
import { linkTo } from "../../stores/route.ts";
import styles from "./board.module.css";

/** Runs that are read-only here: served with the page, dropped, behind an address, or in a folder. */
export function RunsElsewhere(props: {
  readonly runs: readonly RunDigest[];
  /** Why a run cannot be forked now, or null. */
  readonly blockerOf: (run: RunDigest) => string | null;
  readonly onFork: (run: RunDigest) => void;
}): ReactNode {
  const { runs, blockerOf, onFork } = props;
  if (runs.length === 0) return null;
  return (
    <Panel title="Read-only runs">
      <p className="muted small">
        Recorded or dropped runs, and runs opened by address or from a folder. A fork is stored in this browser. The
        Rollouts tab can replay their steps.
      </p>
      <div className="scroll-x">
        <table className={`small ${styles.table}`} data-testid="runs-elsewhere">
          <TableHead columns={["Run", "Steps", "Checkpoints", ""]} />
          <tbody>
            {runs.map((run) => {
              const { manifest, notes, steps, checkpoints } = run;
              const none = checkpoints.length === 0;
              return (
                <tr key={manifest.id}>
                  <th scope="row" className={`anywhere ${styles.name}`}>
                    <a href={linkTo({ screen: "train", run: manifest.id })}>{manifest.title}</a>
                    {(notes.text !== "" || notes.tags.length > 0) && (
                      <small className="block muted normal">
                        {[...notes.tags, notes.text].filter(Boolean).join(" · ")}
                      </small>
                    )}
                  </th>
                  <td>
                    {steps} / {manifest.config.steps}
                  </td>
                  <td>{none ? "none, so it cannot be forked" : checkpoints.join(", ")}</td>
                  <td>
                    {!none && (
                      <Button blocker={blockerOf(run)} onClick={() => onFork(run)}>
                        Fork…
                      </Button>
                    )}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
