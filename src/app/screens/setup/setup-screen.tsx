import { type ReactNode, useMemo } from "react";
import { type SourceShare, sourceShares } from "../../../engine/data/sources.ts";
import { toLabError } from "../../../engine/errors.ts";
import { startBlocker } from "../../clients/run/blockers.ts";
import { act, actionBlocker } from "../../clients/run/run-actions.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { formatCount, formatShare } from "../../styles/format.ts";
import { TrainingRows } from "../data/training-rows.tsx";
import { ModelPanel } from "./model-panel.tsx";
import { Preflight } from "./preflight.tsx";
import { PresetCards } from "./preset-cards.tsx";
import { SettingsForm } from "./settings-form.tsx";
import styles from "./setup-screen.module.css";
import side from "./side.module.css";

/** Preset, settings, model and forecast of the next run. */
export function SetupScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  return (
    <div className={`grid gap-4 align-start p-4 ${styles.screen}`}>
      <h1 className="visually-hidden">Setup</h1>
      <div className="column-flex gap-4 min-0">
        {active && (
          <p className="p-2-3 warn warn-soft round-m">
            The run in progress keeps its settings. Changes apply to the next run.
          </p>
        )}
        <PresetCards />
        <SettingsForm />
      </div>
      <div className={styles.side}>
        <div className="column-flex gap-4 min-0">
          <StartBar />
          <TrainingRows />
          <ModelPanel />
          <MixTable />
          <Preflight />
        </div>
      </div>
    </div>
  );
}

/** The start button and its blocker. */
function StartBar(): ReactNode {
  const busy = useRun((run) => actionBlocker("start", run.state));
  const missing = useSession(startBlocker);
  const blocker = busy ?? missing;
  return (
    <div className="row gap-3">
      <Button
        kind="primary"
        className={side.startButton ?? ""}
        icon={<IconPlay />}
        blocker={blocker}
        data-testid="start"
        onClick={() => act("start")}
      >
        Start
      </Button>
      <p className={`muted ${side.reason}`} data-testid="start-reason">
        {blocker ?? "Ready to start"}
      </p>
    </div>
  );
}

/** Rows of each source of the mix and its expected share of the prompts; nothing without a mix. */
function MixTable(): ReactNode {
  const { mixSources, mixBy } = useSession((session) => session.config);
  const rows = useSession((session) => session.rows);
  const found = useMemo((): readonly SourceShare[] | string => {
    try {
      const ids = rows.map(({ id }) => id);
      return sourceShares(mixSources, mixBy, ids);
    } catch (thrown) {
      return toLabError(thrown).message;
    }
  }, [mixSources, mixBy, rows]);
  if (found.length === 0) return null;
  return (
    <Panel title="Mix">
      {typeof found === "string" ? (
        <p className="bad">{found}</p>
      ) : (
        <table className="small" data-testid="mix">
          <TableHead columns={["Source", "Rows", mixBy === "weights" ? "Weight" : "Repeats", "Prompts"]} />
          <tbody>
            {found.map(({ name, amount, rows: count, share }) => (
              <tr key={name}>
                <th scope="row">{name === "*" ? "other files" : name}</th>
                <td>{formatCount(count)}</td>
                <td>{amount}</td>
                <td>{formatShare(share)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
