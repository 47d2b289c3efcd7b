import { type ReactNode, useMemo } from "react";
import { configDifference } from "../../../engine/config/parse.ts";
import { PRESETS, type Preset } from "../../../engine/config/presets.ts";
import { type SourceShare, sourceShares } from "../../../engine/data/sources.ts";
import { toLabError } from "../../../engine/errors.ts";
import { report } from "../../clients/lab.ts";
import { openPocketModel } from "../../clients/loading.ts";
import { Badge } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { TableHead } from "../../components/ui/table.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { choosePreset, presetValues, useSession } from "../../stores/session.ts";
import { formatCount, formatShare } from "../../styles/format.ts";
import { TrainingRows } from "../data/row-filter.tsx";
import { ModelPanel } from "./model-panel.tsx";
import { Preflight } from "./preflight.tsx";
import { ConfigFile, SettingsForm } from "./settings-form.tsx";
import styles from "./setup.module.css";

/** Model, preset and settings of the next run, and beside the start button what it needs. */
export function SetupScreen(): ReactNode {
  const active = useRun((run) => isActive(run.state));
  return (
    <div className="screen">
      <header className="row wrap gap-2-3 between">
        <h1>Setup</h1>
        <ConfigFile />
      </header>
      {active && (
        <p className="p-2-3 warn warn-soft round-m">
          The run in progress keeps its settings. Changes apply to the next run.
        </p>
      )}
      <div className={`grid gap-4 align-start ${styles.columns}`}>
        <div className="column-flex gap-4 min-0">
          <ModelPanel />
          <Presets />
          <SettingsForm />
        </div>
        <div className={`column-flex gap-4 min-0 ${styles.side}`}>
          <Preflight />
          <TrainingRows />
          <MixTable />
        </div>
      </div>
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

/** Presets; selecting one sets all its values. */
export function Presets(): ReactNode {
  const chosen = useSession((session) => session.preset);
  const preset: Preset | undefined = PRESETS.find(({ name }) => name === chosen);
  const cards = (more: boolean): ReactNode => (
    <div className={`grid gap-2 ${styles.cards}`}>
      {PRESETS.filter((entry: Preset) => (entry.more === true) === more).map((entry) => (
        <Card key={entry.name} {...entry} chosen={entry.name === chosen} />
      ))}
    </div>
  );
  return (
    <section aria-label="Presets" className="grid gap-2">
      {cards(false)}
      {preset?.evidence !== undefined && <p className="muted small">{preset.evidence}.</p>}
      <details className="fold" open={preset?.more}>
        <summary>More presets</summary>
        {cards(true)}
      </details>
    </section>
  );
}

function Card({ name, title, summary, chosen }: Preset & { readonly chosen: boolean }): ReactNode {
  const changed = useSession(
    (session) => Object.keys(configDifference(session.config, presetValues(name, session.plan))).length,
  );
  return (
    <button
      type="button"
      className="choice column-flex gap-2px p-3 text-left pointer surface framed round-l"
      aria-pressed={chosen}
      data-testid={`preset-${name}`}
      onClick={() => {
        choosePreset(name);
        if (!isActive(useRun.getState().state)) report(openPocketModel(name));
      }}
    >
      <span className="row gap-2 bold">
        {title}
        {chosen && changed > 0 && <Badge tone="accent">{changed} changed</Badge>}
      </span>
      <span className="muted small">{summary}.</span>
    </button>
  );
}
