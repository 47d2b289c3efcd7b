import type { ReactNode } from "react";
import { useRunBlocker } from "../../app/clients/run/blockers.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { hasPanels } from "../../app/components/place/place.tsx";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { linkTo, navigate, useRoute } from "../../app/stores/route.ts";
import styles from "./runs-elsewhere.module.css";

/** Runs that are read-only here: served with the page, dropped, behind an address, or in a folder. */
export default function RunsElsewhere({ runs, onFork }: Places["runs-elsewhere"]): ReactNode {
  const blockerOf = useRunBlocker();
  const compared = useRoute(({ compare }) => compare);
  if (runs.length === 0) return null;
  return (
    <Panel title="Read-only runs">
      <p className="muted small">
        Recorded or dropped runs, and runs opened by address or from a folder. A fork is stored in this browser. The
        Rollouts tab can replay their steps.
      </p>
      <div className="scroll-x">
        <table className="small worded" data-testid="runs-elsewhere">
          <TableHead columns={["", "Run", "Steps", "Checkpoints", ""]} />
          <tbody>
            {runs.map((run) => {
              const { manifest, notes, steps, checkpoints } = run;
              const none = checkpoints.length === 0;
              return (
                <tr key={manifest.id}>
                  <td>
                    {hasPanels("run-curves") && (
                      <input
                        type="checkbox"
                        className={styles.compare}
                        aria-label={`Compare ${manifest.title}`}
                        title="Show on the same charts as the other selected runs"
                        checked={compared.includes(manifest.id)}
                        onChange={({ currentTarget: { checked } }) => {
                          const others = compared.filter((id) => id !== manifest.id);
                          navigate({ compare: checked ? [...others, manifest.id] : others });
                        }}
                      />
                    )}
                  </td>
                  <th scope="row" className={`anywhere ${styles.name}`}>
                    <a className="cell-link" href={linkTo({ screen: "train", run: manifest.id })}>
                      {manifest.title}
                    </a>
                    {(notes.text !== "" || notes.tags.length > 0) && (
                      <small className="block muted normal">
                        {[...notes.tags, notes.text].filter(Boolean).join(" · ")}
                      </small>
                    )}
                  </th>
                  <td className="nowrap">
                    {steps} / {manifest.config.steps}
                  </td>
                  <td>{none ? "none, so it cannot be forked" : checkpoints.join(", ")}</td>
                  <td>
                    {!none && (
                      <Button blocker={blockerOf(manifest.id, null)} onClick={() => onFork(run)}>
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
