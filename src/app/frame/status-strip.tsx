import { type ReactNode, useEffect, useState } from "react";
import type { Phase, RunState } from "../../engine/rl/events.ts";
import { startObstacle } from "../clients/lab.ts";
import { Button } from "../components/ui/button.tsx";
import { IconKeys, IconPause, IconPlay, IconStep, IconStop, IconWarning } from "../components/ui/icons.tsx";
import { useRun } from "../stores/run.ts";
import { useSession } from "../stores/session.ts";
import { formatAge, formatBytes, formatCount, formatNumber, NONE } from "../styles/format.ts";
import { GPU_BYTES, GPU_TENSORS, useLatestMetric } from "./device-metrics.ts";
import { act, actionObstacle } from "./run-actions.ts";
import styles from "./status-strip.module.css";
import { ThemeSwitch } from "./theme-switch.tsx";

const STATE_WORDS: Readonly<Record<RunState, string>> = {
  idle: "no run",
  ready: "ready",
  starting: "starting",
  running: "running",
  pausing: "pausing",
  paused: "paused",
  stopping: "stopping",
  finished: "finished",
  failed: "failed",
};

const PHASE_WORDS: Readonly<Record<Phase, string>> = {
  sample: "drawing rows",
  features: "encoding pictures",
  generate: "generating",
  partner: "partner answers",
  reward: "scoring",
  advantage: "advantages",
  loss: "loss and backward",
  update: "updating",
  ema: "EMA",
  log: "logging",
  eval: "evaluating",
  checkpoint: "saving",
};

/** Always visible: what runs, how far, how fast, and the buttons that steer it. */
export function StatusStrip(props: { readonly onWarnings: () => void; readonly onKeys: () => void }): ReactNode {
  const state = useRun((run) => run.state);
  const manifest = useRun((run) => run.manifest);
  const warnings = useRun((run) => run.alarms.length);
  const problems = useSession((session) => session.problems.length);
  return (
    <header className={styles.strip}>
      <div className={styles.run}>
        <span className={styles.title}>{manifest?.title ?? "sa2va-lab"}</span>
        <span className={styles.state} data-state={state} data-testid="run-state">
          <span className={styles.dot} aria-hidden="true" />
          {STATE_WORDS[state]}
        </span>
      </div>
      <Facts />
      <div className={styles.actions}>
        {warnings + problems > 0 && (
          <Button
            kind="quiet"
            className={styles.warnings ?? ""}
            icon={<IconWarning />}
            onClick={props.onWarnings}
            aria-label={`${warnings + problems} open warnings…`}
          >
            {warnings + problems}
          </Button>
        )}
        <RunButtons />
        <ThemeSwitch />
        <Button kind="quiet" icon={<IconKeys />} aria-label="Keys…" title="Keys… (?)" onClick={props.onKeys} />
      </div>
    </header>
  );
}

function Facts(): ReactNode {
  const runId = useRun((run) => run.runId);
  const step = useRun((run) => run.step);
  const steps = useRun((run) => run.manifest?.config.steps ?? null);
  const state = useRun((run) => run.state);
  const phase = useRun((run) => run.phase);
  const loop = useRun((run) => run.loop);
  const rate = useRun((run) => run.rolloutsPerMinute);
  const bytes = useLatestMetric(runId, GPU_BYTES);
  const tensors = useLatestMetric(runId, GPU_TENSORS);
  if (runId === null) return <Readiness />;
  const moving = state === "running" || state === "pausing";
  return (
    <dl className={styles.facts} tabIndex={0}>
      <Fact name="step" value={`${formatCount(step)}/${formatCount(steps)}`} testId="step" />
      {moving && phase !== null && (
        <Fact name={loop === null ? "step ▸" : `loop ${loop} ▸`} value={PHASE_WORDS[phase]} wide />
      )}
      <Fact name="rollouts/min" value={formatNumber(rate, 1)} after />
      <Fact name="GPU" value={bytes === null ? NONE : `${formatBytes(bytes)} · ${formatCount(tensors)} tensors`} />
      <CheckpointAge />
    </dl>
  );
}

/** Before the first run: what is still missing. */
function Readiness(): ReactNode {
  const rows = useSession((session) => session.rows.length);
  const model = useSession((session) => session.model?.name ?? null);
  const gpu = useSession((session) => session.gpu);
  return (
    <dl className={styles.facts} tabIndex={0}>
      <Fact name="rows" value={rows === 0 ? NONE : formatCount(rows)} />
      <Fact name="model" value={model ?? NONE} />
      <Fact
        name="GPU"
        value={gpu === null ? NONE : gpu.software ? "software adapter" : gpu.vendor || gpu.description}
      />
    </dl>
  );
}

function CheckpointAge(): ReactNode {
  const last = useRun((run) => run.lastCheckpoint);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (last === null) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, [last]);
  const age = last === null ? NONE : `step ${last.step}, ${formatAge((now - last.at) / 1000)} ago`;
  return <Fact name="checkpoint" value={age} />;
}

function Fact(props: {
  readonly name: string;
  readonly value: string;
  /** Keeps a steady width while the words change. */
  readonly wide?: boolean;
  /** The value stands before its name, as a unit does. */
  readonly after?: boolean;
  readonly testId?: string;
}): ReactNode {
  return (
    <div className={styles.fact} data-after={props.after === true} data-wide={props.wide === true}>
      <dt>{props.name}</dt>
      <dd data-testid={props.testId}>{props.value}</dd>
    </div>
  );
}

function RunButtons(): ReactNode {
  const state = useRun((run) => run.state);
  const obstacle = useSession(startObstacle);
  const active = actionObstacle("start", state) !== null;
  if (!active) {
    return (
      <Button
        kind="primary"
        icon={<IconPlay />}
        obstacle={obstacle}
        data-testid="strip-start"
        onClick={() => act("start")}
      >
        Start
      </Button>
    );
  }
  const running = state === "running";
  return (
    <>
      <Button
        kind={running ? "plain" : "primary"}
        icon={running ? <IconPause /> : <IconPlay />}
        obstacle={actionObstacle(running ? "pause" : "play", state)}
        data-testid={running ? "pause" : "play"}
        title={running ? "Pause after this phase (P)" : "Continue (P)"}
        onClick={() => act(running ? "pause" : "play")}
      >
        {running ? "Pause" : "Play"}
      </Button>
      <Button
        icon={<IconStep />}
        obstacle={actionObstacle("step", state)}
        data-testid="single-step"
        title="One step, then pause (S)"
        onClick={() => act("step")}
      >
        Step
      </Button>
      <Button
        icon={<IconStop />}
        obstacle={actionObstacle("stop", state)}
        data-testid="stop"
        title="Save and end the run"
        onClick={() => act("stop")}
      >
        Stop
      </Button>
    </>
  );
}
