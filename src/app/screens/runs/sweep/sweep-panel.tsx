import { type ReactNode, useEffect, useId } from "react";
import { report } from "../../../clients/lab.ts";
import { loadedBlocker } from "../../../clients/run/blockers.ts";
import { cancelSweep, refreshSweep, resumeSweep, startSweep } from "../../../clients/run/sweep.ts";
import { Button } from "../../../components/ui/button.tsx";
import { FileButton } from "../../../components/ui/file-button.tsx";
import { Panel } from "../../../components/ui/panel/panel.tsx";
import { isActive, useRun } from "../../../stores/run/run.ts";
import { useSession } from "../../../stores/session.ts";
import { draftSweep, useSweep } from "../../../stores/sweep.ts";
import styles from "./sweep.module.css";
import { SweepGrid } from "./sweep-grid.tsx";
import { SweepJobs } from "./sweep-jobs.tsx";
import { SweepTable } from "./sweep-table.tsx";

/** Settings × seeds, trained one after the other on the open model and rows, with one table at the end. */
export function SweepPanel(): ReactNode {
  const { file, text } = useSweep(({ draft }) => draft);
  const sweep = useSweep((state) => state.sweep);
  const active = useSweep((state) => state.active);
  const results = useSweep((state) => state.results);
  const missing = useSession(loadedBlocker);
  const busy = useRun(({ state }) => isActive(state));
  const id = useId();
  useEffect(() => report(refreshSweep()), []);
  const blocker = active ? "A sweep is in progress" : busy ? "A run is in progress" : missing;
  return (
    <Panel
      title="Sweep"
      aside={
        <span className="row wrap gap-2">
          <FileButton
            label="Sweep file"
            accept=".json,.yaml,.yml,application/json"
            testId="pick-sweep"
            onFile={(picked) => report(picked.text().then((content) => draftSweep(picked.name, content)))}
          >
            Open file…
          </FileButton>
          {active ? (
            <Button kind="danger" data-testid="sweep-cancel" onClick={() => report(cancelSweep())}>
              Cancel
            </Button>
          ) : (
            sweep !== null && (
              <Button data-testid="sweep-resume" blocker={blocker} onClick={() => report(resumeSweep())}>
                Resume {sweep.file}
              </Button>
            )
          )}
          <Button
            kind="primary"
            data-testid="sweep-start"
            blocker={text.trim() === "" ? "Open, drop or paste a sweep file, or create one from a grid" : blocker}
            onClick={() => report(startSweep())}
          >
            Start
          </Button>
        </span>
      }
    >
      <p className="muted small">
        Trains every variant with every seed, one run after the other, from the open model on the open rows. Files have
        the form of those in experiments/; the entries model, shards and build are for npm run sweep and are ignored
        here.
      </p>
      <div className={`grid gap-3 mt-3 ${styles.form}`}>
        <div className="column-flex gap-2">
          <label htmlFor={id} className="medium">
            {file}
          </label>
          <textarea
            id={id}
            className={styles.text}
            data-testid="sweep-text"
            rows={10}
            spellCheck={false}
            placeholder="Paste a sweep file, or drop it anywhere"
            value={text}
            onChange={(event) => draftSweep(useSweep.getState().draft.file, event.currentTarget.value)}
          />
        </div>
        <SweepGrid />
      </div>
      {sweep !== null && <SweepJobs sweep={sweep} active={active} />}
      {results !== null && <SweepTable results={results} />}
    </Panel>
  );
}
