import { type ReactNode, useEffect, useState } from "react";
import { Button } from "../components/ui/button.tsx";
import { IconBoth, IconKeys, IconMoon, IconSun, IconSystem, IconWarning } from "../components/ui/icons.tsx";
import { isAsking, useConsent } from "../stores/consent.ts";
import { navigate } from "../stores/route.ts";
import { roughly, runSeconds } from "../stores/run/eta.ts";
import { metricStore } from "../stores/run/metrics.ts";
import { useOtherTabs } from "../stores/run/other-tabs.ts";
import { isActive, lastPeak, PHASE_NAMES, type RunStoreState, useRun } from "../stores/run/run.ts";
import { setTheme, type Theme, useSession } from "../stores/session.ts";
import { fixed, formatAge, formatBytes, formatCount, NONE } from "../styles/format.ts";
import styles from "./frame.module.css";
import { RunButtons, savesNow, useWritten } from "./run-buttons.tsx";
import { screenLink } from "./screens.tsx";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const THEME_ICONS = { system: <IconBoth />, light: <IconSun />, dark: <IconMoon /> };

/** Cycles through system, light and dark. */
function ThemeSwitch(): ReactNode {
  const theme = useSession((session) => session.theme);
  return (
    <Button
      kind="quiet"
      data-testid="theme"
      aria-label={`Theme: ${theme}. Switch to ${NEXT[theme]}`}
      title={`Theme: ${theme}`}
      onClick={() => setTheme(NEXT[theme])}
      icon={THEME_ICONS[theme]}
    />
  );
}

/** Status line: state, progress and speed of the run, and its buttons. */
export function StatusStrip(props: { readonly onWarnings: () => void; readonly onKeys: () => void }): ReactNode {
  const state = useRun((run) => run.state);
  const asking = useConsent(isAsking);
  const word = useRun((run) => stateWord(run, asking));
  const title = useRun((run) => run.manifest?.title);
  const warnings = useRun((run) => run.alarms.length);
  const problems = useSession((session) => session.problems.length);
  const silent = useSession((session) => session.trainerSilent !== null) && isActive(state);
  const elsewhere = useOtherTabs().length > 0 && !isActive(state);
  return (
    <header className={`row surface ${styles.strip}`}>
      <div className={`row ${styles.run}`}>
        <a className={`large bold ${styles.home}`} {...screenLink("home")} title="Home (G H)" data-testid="nav-home">
          sa2va-lab
        </a>
        {title !== undefined && <span className={`large bold ${styles.title}`}>{title}</span>}
        <span
          className={`inline-flex gap-6px align-centre muted ${styles.state}`}
          data-state={state}
          data-testid="run-state"
        >
          <span className={styles.dot} aria-hidden="true" />
          {elsewhere ? "training in another tab" : silent ? "not answering" : word}
        </span>
      </div>
      <Facts />
      <div className={`row gap-2 ${styles.corner}`}>
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
        <GpuChip />
        <ThemeSwitch />
        <Button
          kind="quiet"
          icon={<IconKeys />}
          aria-label="Keyboard shortcuts…"
          title="Keyboard shortcuts… (?)"
          onClick={props.onKeys}
        />
      </div>
      {/* Last: what comes, goes or changes its width beside the buttons moves none of them. */}
      <div className={`row wrap gap-2 justify-end ${styles.actions}`}>
        <RunButtons />
      </div>
    </header>
  );
}

/**
 * A run that ended before its last step counts as stopped and can be resumed.
 * @param asking whether a consent dialog is open, for which a starting run waits
 */
function stateWord(run: Pick<RunStoreState, "state" | "step" | "manifest">, asking: boolean): string {
  const { state, step, manifest } = run;
  if (state === "idle") return "no run";
  if (state === "starting" && asking) return "waiting for your answer";
  return state === "finished" && manifest !== null && step < manifest.config.steps ? "stopped" : state;
}

function Facts(): ReactNode {
  const { runId, step, manifest, state, phase, loop, rolloutsPerMinute, eta } = useRun();
  if (runId === null) return <Readiness />;
  const { rows } = eta;
  const moving = state === "running" || state === "pausing";
  return (
    <dl className={`flex wrap min-0 grow ${styles.facts}`} tabIndex={0} data-run="true">
      <Fact name="step" value={`${formatCount(step)}/${formatCount(manifest?.config.steps)}`} testId="step" />
      <Fact name="rollouts/min" value={fixed(rolloutsPerMinute, 1)} after />
      <CheckpointAge />
      {/* Facts that come and go are last, so that nothing else moves. */}
      {moving && phase !== null && (
        <Fact
          name={loop === null ? "step ▸" : `loop ${loop} ▸`}
          value={`${PHASE_NAMES[phase]}${phase === "eval" && rows !== null ? ` ${rows.done}/${rows.total}` : ""}`}
          wide
        />
      )}
      <TimeLeft />
    </dl>
  );
}

/** The GPU, and after a step its peak of memory, which Setup forecasts; opens System. */
function GpuChip(): ReactNode {
  const gpu = useSession((session) => session.gpu);
  const error = useSession((session) => session.gpuError?.message);
  const runId = useRun((run) => run.runId);
  const peak = useRun(lastPeak);
  const latest = (name: string): number | null => metricStore(runId ?? "").latest(`memory/${name}`);
  const name = gpu === null ? "" : gpu.software ? "software adapter" : gpu.vendor || gpu.description;
  const text = error === undefined ? (peak === null ? name : `peak ${formatBytes(peak)}`) : "no GPU";
  // Of all buffers if measured, else of live tensors.
  const held = `${formatBytes(latest("gpu_bytes_allocated") ?? latest("gpu_bytes"))} and ${formatCount(latest("num_tensors"))} tensors`;
  const used = peak === null ? "" : `, at most ${formatBytes(peak)} in the last step, ${held} after it`;
  return (
    <Button
      kind="quiet"
      className={styles.iconic ?? ""}
      icon={<IconSystem />}
      aria-label={`System: ${text || "the GPU is opening"}`}
      title={`${error ?? name}${used}. System (G Y)`}
      data-testid="gpu-chip"
      onClick={() => navigate({ panel: "system" })}
    >
      {text}
    </Button>
  );
}

/** Before the first run: missing parts. */
function Readiness(): ReactNode {
  const rows = useSession((session) => session.rows.length);
  const model = useSession((session) => session.model?.name ?? null);
  return (
    <dl className={`flex wrap min-0 grow ${styles.facts}`} tabIndex={0}>
      <Fact name="rows" value={rows === 0 ? NONE : formatCount(rows)} />
      <Fact name="model" value={model ?? NONE} />
    </dl>
  );
}

/** Progress of the current run; a timer updates it during long phases. */
function TimeLeft(): ReactNode {
  const running = useRun((run) => run.state === "running");
  useClock(running);
  const left = useRun(timeLeft);
  if (left === null) return null;
  return <Fact name="left" value={left} after testId="time-left" />;
}

function timeLeft({ state, manifest, step, heldOutRows, costs, eta }: RunStoreState): string | null {
  if (state !== "running" || manifest === null) return null;
  const seconds = runSeconds({ step, config: manifest.config, heldOutRows, costs, eta }, Date.now());
  return seconds === null ? null : roughly(seconds);
}

function CheckpointAge(): ReactNode {
  const last = useRun((run) => run.lastCheckpoint);
  const asked = useRun((run) => run.saveAsked && !savesNow(run));
  const step = useRun((run) => run.step);
  const written = useWritten();
  const now = useClock(last !== null);
  if (asked) return <Fact name="saves" value={`after step ${step + 1}`} testId="checkpoint" />;
  if (written !== null) return <Fact name="saved" value={`step ${written}, just now`} testId="checkpoint" />;
  // A new checkpoint may be later than `now`, which is updated only every few seconds.
  const ago = last === null || last.at === null ? "" : `, ${formatAge(Math.max(0, now - last.at) / 1000)} ago`;
  const age = last === null ? NONE : `step ${last.step}${ago}`;
  return <Fact name="saved" value={age} testId="checkpoint" />;
}

/** Milliseconds since the epoch, updated every few seconds while needed. */
function useClock(wanted: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!wanted) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 5000);
    return () => clearInterval(timer);
  }, [wanted]);
  return now;
}

function Fact(props: {
  readonly name: string;
  readonly value: string;
  /** Keeps its width while the text changes. */
  readonly wide?: boolean;
  /** The value is placed before its name, as with a unit. */
  readonly after?: boolean;
  readonly testId?: string;
}): ReactNode {
  return (
    <div className={`flex nowrap ${styles.fact}`} data-after={props.after === true} data-wide={props.wide === true}>
      <dt className="muted">{props.name}</dt>
      <dd data-testid={props.testId}>{props.value}</dd>
    </div>
  );
}

/** Minimum milliseconds between two spoken messages. */
const PAUSE_MS = 5000;

/** Mean reward over the groups of the newest step that has any. */
function newestReward(run: RunStoreState): number | null {
  const step = run.groups.at(-1)?.step;
  const means = run.groups.filter((group) => group.step === step).map((group) => group.rewardMean);
  const known = means.filter((mean) => Number.isFinite(mean));
  return known.length === 0 ? null : known.reduce((sum, mean) => sum + mean, 0) / known.length;
}

/** How far a run is, with its reward. @param saved step of a requested checkpoint that has not been announced yet */
export function runSentence(run: RunStoreState, saved: number | null = null): string {
  if (run.manifest === null) return "";
  const reward = newestReward(run);
  const written = saved === null ? "" : `Checkpoint of step ${saved} written. `;
  return `${written}${run.manifest.title}: ${stateWord(run, isAsking(useConsent.getState()))}, step ${run.step} of ${run.manifest.config.steps}${
    reward === null ? "" : `, reward ${fixed(reward)}`
  }`;
}

/** Announces state changes at once and progress every tenth of the run; updates the window title. */
export function Announcer(): ReactNode {
  const [message, setMessage] = useState("");
  useEffect(() => {
    let spokenAt = Number.NEGATIVE_INFINITY;
    let timer: ReturnType<typeof setTimeout> | null = null;
    let announced = "";
    let saved = useRun.getState().lastCheckpoint;
    const speak = (): void => {
      timer = null;
      spokenAt = performance.now();
      const run = useRun.getState();
      const fresh = run.lastCheckpoint !== saved && run.lastCheckpoint?.asked === true;
      saved = run.lastCheckpoint;
      setMessage(runSentence(run, fresh ? (saved?.step ?? null) : null));
    };
    const stop = useRun.subscribe((run) => {
      const steps = run.manifest?.config.steps ?? 1;
      document.title =
        run.manifest !== null && (run.state === "running" || run.state === "paused")
          ? `${run.step}/${steps} · ${fixed(newestReward(run))} – ${run.manifest.title}`
          : "sa2va-lab";
      const asked = run.lastCheckpoint?.asked === true ? run.lastCheckpoint.step : "";
      const news = `${run.state} ${Math.floor((run.step * 10) / steps)} ${asked}`;
      if (news === announced) return;
      announced = news;
      timer ??= setTimeout(speak, Math.max(0, spokenAt + PAUSE_MS - performance.now()));
    });
    return () => {
      stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, []);
  return (
    <div className="visually-hidden" aria-live="polite">
      {message}
    </div>
  );
}
