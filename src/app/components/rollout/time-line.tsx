import type { ReactNode } from "react";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { useSession } from "../../stores/session.ts";
import { Button } from "../ui/button.tsx";
import { IconBack, IconChevron } from "../ui/icons.tsx";
import { Empty } from "../ui/panel/panel.tsx";
import styles from "./rollout.module.css";
import { movedRollout } from "./rollout-view.ts";
import type { ViewedRun } from "./use-viewed-run.ts";

/**
 * The step to show for the step in the address: itself, else the nearest earlier step with rollouts, else the first;
 * the newest if the address has none; null without steps.
 * @param steps ascending
 */
export function shownStep(steps: readonly number[], asked: number | null): number | null {
  if (asked === null) return steps.at(-1) ?? null;
  return steps.findLast((step) => step <= asked) ?? steps[0] ?? null;
}

/** Slider over the steps of a run; curves and rollouts of every screen show its step, which is part of the address. */
export function TimeLine(props: {
  /** Where it can stop, ascending. */
  readonly steps: readonly number[];
  /** One of `steps`; null without any. */
  readonly selected: number | null;
  /** Step in the address; null while the newest step is followed. */
  readonly asked: number | null;
  /** Newest step of a run in progress; null for another run. */
  readonly live?: number | null;
}): ReactNode {
  const { steps, selected, asked, live = null } = props;
  const place = selected === null ? -1 : steps.indexOf(selected);
  // An open rollout moves with the line.
  const moved = (step: number): string | null => movedRollout(useRoute.getState().rollout, step);
  const go = (to: number): void => {
    const step = steps[Math.min(steps.length - 1, Math.max(0, to))];
    if (step !== undefined) navigate({ step, rollout: moved(step) });
  };
  return (
    <div className={`grid align-centre gap-2px ${styles.line}`} data-testid="time-line">
      <Button
        kind="quiet"
        aria-label="Previous step"
        disabled={place <= 0}
        icon={<IconBack />}
        onClick={() => go(place - 1)}
      />
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={selected === null ? "none" : `step ${selected}`}
        min={0}
        max={Math.max(0, steps.length - 1)}
        value={Math.max(0, place)}
        disabled={steps.length < 2}
        onChange={(event) => go(Number(event.currentTarget.value))}
      />
      <Button
        kind="quiet"
        aria-label="Next step"
        disabled={place < 0 || place >= steps.length - 1}
        icon={<IconChevron />}
        onClick={() => go(place + 1)}
      />
      <Button
        className={styles.latest ?? ""}
        aria-pressed={asked === null}
        title={asked === null ? "The newest step is shown" : "Return to the newest step and follow it"}
        data-testid="follow-latest"
        onClick={() => navigate({ step: null, group: null, rollout: moved(steps.at(-1) ?? 0) })}
      >
        {live === null ? "Latest" : asked === null ? "Live" : `Live: step ${live}`}
      </Button>
    </div>
  );
}

/** The step that is shown, and why it is not the one in the address. */
export function StepTitle(props: {
  readonly shown: number | null;
  readonly asked: number | null;
  /** What the step in the address lacks, such as "has no rollouts". */
  readonly lacking: string;
}): ReactNode {
  const { shown, asked, lacking } = props;
  if (shown === null) return <span className="grow" />;
  return (
    <span className="grow muted large">
      <span className="nowrap">step {shown}</span>
      {asked !== null && asked !== shown && (
        <small>
          , because step {asked} {lacking}
        </small>
      )}
    </span>
  );
}

/** Beside the recorded run: the way back to the newest stored run. */
export function NewestRun({ run }: { readonly run: ViewedRun }): ReactNode {
  const newest = useSession((session) => session.newest);
  const recorded = useSession((session) => session.recordedRun === run.runId);
  if (!recorded || newest == null) return null;
  return (
    <a className="screen-link anywhere" href={linkTo({ screen: "train", run: newest.id, step: null, rollout: null })}>
      Your newest run: {newest.title}
    </a>
  );
}

/** Placeholder for missing rollouts. */
export function Nothing(props: {
  readonly run: ViewedRun;
  readonly loading: boolean;
  readonly problem: string | null;
  readonly filtered: boolean;
}): ReactNode {
  const { run, loading, problem, filtered } = props;
  if (run.manifest === null && run.problem !== null) return null;
  if (problem !== null) return <Empty title="Cannot read these rollouts">{problem}</Empty>;
  if (loading || run.loading) return <p className="row gap-3 muted">Reading…</p>;
  if (filtered) return <Empty title="No rollout matches the filters" />;
  if ((run.manifest?.config.mode ?? "rl") !== "rl") {
    return (
      <Empty title="A supervised run has no rollouts">
        Its <a href={linkTo({ screen: "train", tab: "held-out", run: run.place })}>held-out rows</a> have masks and
        captions
      </Empty>
    );
  }
  return <Empty title={run.source === "live" ? "Waiting for the first rollouts" : "This run has no rollouts"} />;
}
