import { type ReactNode, useMemo, useState } from "react";
import type { Alarm } from "../../../engine/runs/alarms.ts";
import { readAlarms } from "../../clients/run/run-reads.ts";
import { PluginPanels } from "../../components/place/place.tsx";
import { rolloutPlace } from "../../components/rollout/rollout-view.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconClose, IconWarning } from "../../components/ui/icons.tsx";
import { useRead } from "../../stores/reads.ts";
import { linkTo } from "../../stores/route.ts";
import { alarmKey, dismissAlarm, useRun } from "../../stores/run/run.ts";
import styles from "./train.module.css";

interface RunAlarms {
  /** Newest first, without dismissed alarms. */
  readonly list: readonly Alarm[];
  readonly loading: boolean;
  readonly problem: string | null;
}

/** Alarms of a run: those in its folder, plus live ones. */
export function useAlarms({ runId, source }: ViewedRun): RunAlarms {
  const live = source === "live";
  const arrived = useRun((run) => run.alarms);
  const dismissed = useRun((run) => run.dismissed);
  const stored = useRead(readAlarms(runId));
  const { value: kept, loading } = stored;
  // The folder of a new run may not exist yet.
  const problem = live ? null : stored.problem;
  return useMemo(() => {
    const all = new Map<string, Alarm>();
    for (const alarm of [...(kept ?? []), ...(live ? arrived : [])]) all.set(alarmKey(alarm), alarm);
    if (live) for (const key of dismissed) all.delete(key);
    const list = [...all.values()].sort((a, b) => b.step - a.step);
    return { list, loading, problem };
  }, [kept, loading, problem, live, arrived, dismissed]);
}

/** Number of newest alarms that are shown. A finished run shows one, because its result and rollouts come first. */
const SHOWN = { live: 3, past: 1 };
/** Maximum rollout links per alarm. */
const LINKED = 4;

/** Alarms of a run, newest first, with links to their step and rollouts. */
export function Alarms({ run, alarms }: { readonly run: ViewedRun; readonly alarms: RunAlarms }): ReactNode {
  const { list, problem } = alarms;
  const [all, setAll] = useState(false);
  if (problem !== null) return <p className="bad">Alarms could not be read: {problem}</p>;
  if (list.length === 0) return null;
  const live = run.source === "live";
  const shown = live ? SHOWN.live : SHOWN.past;
  return (
    <section className={styles.alarms} aria-label="Alarms" data-testid="alarms" data-live={live}>
      <ul className="grid gap-1 m-0 p-0 no-bullets">
        {list.slice(0, all ? list.length : shown).map((alarm) => (
          <li key={alarmKey(alarm)} className="row gap-2 round-m" data-severity={alarm.severity}>
            <IconWarning />
            <a href={linkTo({ screen: "train", tab: "rollouts", run: run.place, step: alarm.step })}>
              Step {alarm.step}
            </a>
            <span>
              {alarm.message}
              <span className="row wrap gap-2-4">
                <RolloutLinks alarm={alarm} runId={run.place} />
                <PluginPanels at="remedies" given={{ alarm, run }} quiet />
              </span>
            </span>
            {live && (
              <Button kind="quiet" aria-label="Dismiss" icon={<IconClose />} onClick={() => dismissAlarm(alarm)} />
            )}
          </li>
        ))}
      </ul>
      {list.length > shown && (
        <Button kind="quiet" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${list.length}`}
        </Button>
      )}
    </section>
  );
}

/** Links to the first rollouts of an alarm. @param runId the run in the address; null for the default run */
function RolloutLinks({ alarm, runId }: { readonly alarm: Alarm; readonly runId: string | null }): ReactNode {
  const { step, rollouts = [] } = alarm;
  const linked = rollouts.slice(0, LINKED).flatMap((id) => {
    const place = rolloutPlace(id);
    return place === null ? [] : [{ id, place }];
  });
  if (linked.length === 0) return null;
  return (
    <small className={`flex wrap align-baseline muted ${styles.alarmRollouts}`}>
      {rollouts.length === 1 ? "Rollout" : `${rollouts.length} rollouts, the first:`}
      {linked.map(({ id, place }) => (
        <a
          key={id}
          href={linkTo({ screen: "train", tab: "rollouts", run: runId, step, group: place.group, rollout: id })}
        >
          {place.text}
        </a>
      ))}
    </small>
  );
}
