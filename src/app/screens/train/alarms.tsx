import { type ReactNode, useState } from "react";
import { Button } from "../../components/ui/button.tsx";
import { IconClose, IconWarning } from "../../components/ui/icons.tsx";
import { linkTo } from "../../stores/route.ts";
import { dismissAlarm, useRun } from "../../stores/run.ts";
import styles from "./train.module.css";

const SHOWN = 3;

/** Open alarms, newest first, each with the way to its step. */
export function Alarms(): ReactNode {
  const alarms = useRun((run) => run.alarms);
  const [all, setAll] = useState(false);
  if (alarms.length === 0) return null;
  const newest = [...alarms].reverse();
  return (
    <section className={styles.alarms} aria-label="Alarms">
      <ul>
        {newest.slice(0, all ? newest.length : SHOWN).map((alarm) => (
          <li key={alarm.id} data-severity={alarm.severity}>
            <IconWarning />
            <a href={linkTo({ screen: "rollouts", step: alarm.step })}>Step {alarm.step}</a>
            <span>{alarm.message}</span>
            <Button kind="quiet" aria-label="Dismiss" icon={<IconClose />} onClick={() => dismissAlarm(alarm.id)} />
          </li>
        ))}
      </ul>
      {newest.length > SHOWN && (
        <Button kind="quiet" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show all ${newest.length}`}
        </Button>
      )}
    </section>
  );
}
