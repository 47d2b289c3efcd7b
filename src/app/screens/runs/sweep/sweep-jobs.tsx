import type { ReactNode } from "react";
import { readSweep, type SweepPlan } from "../../../../engine/sweep/plan.ts";
import type { StoredSweep } from "../../../../protocol/data.ts";
import { Badge } from "../../../components/ui/badge.tsx";
import { linkTo } from "../../../stores/route.ts";
import { useRun } from "../../../stores/run/run.ts";
import { useSweep } from "../../../stores/sweep.ts";
import styles from "./sweep.module.css";

const TONES = { done: "good", training: "accent", stopped: "warn", failed: "bad" } as const;

/** Progress of a sweep: one line per job, with its run. */
export function SweepJobs(props: { readonly sweep: StoredSweep; readonly active: boolean }): ReactNode {
  const { sweep, active } = props;
  const jobs = useSweep((state) => state.jobs);
  const liveId = useRun(({ runId }) => runId);
  const step = useRun((run) => run.step);
  const plan = planOrNull(sweep);
  if (plan === null) return null;
  const done = plan.jobs.filter(({ name }) => jobs[name] === "done").length;
  return (
    <section className="column-flex gap-2 mt-4" aria-label="Jobs of the sweep">
      <p role="status" data-testid="sweep-progress">
        {plan.title}: {done} of {plan.jobs.length} jobs done
        {!active && done < plan.jobs.length && ", not running"}
      </p>
      <ul className={`grid gap-1 ${styles.jobs}`}>
        {plan.jobs.map(({ name, config }) => {
          const state = jobs[name];
          const run = sweep.runs[name];
          return (
            <li key={name} className="row wrap gap-2">
              {run === undefined ? (
                name
              ) : (
                <a href={linkTo({ screen: "train", run: run === liveId ? null : run })}>{name}</a>
              )}
              {state !== undefined && <Badge tone={TONES[state]}>{state}</Badge>}
              {state === "training" && run === liveId && (
                <span className="muted">
                  step {step} of {config.steps}
                </span>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A file stored by an older version may name a removed setting; resuming reports it. */
function planOrNull({ file, text }: StoredSweep): SweepPlan | null {
  try {
    return readSweep(text, file, () => undefined);
  } catch {
    return null;
  }
}
