/** On Train: the time of the last step by phase, while a run of this page is shown. */
import type { CSSProperties, ReactNode } from "react";
import { type Eta, evaluationSeconds, roughly } from "../../app/stores/run/eta.ts";
import { PHASE_NAMES, useRun } from "../../app/stores/run/run.ts";
import { counted, formatSeconds, percent } from "../../app/styles/format.ts";
import type { Phase, PhaseTimes } from "../../engine/rl/run/events.ts";
import styles from "./phases.module.css";

/** Time of the last step by phase, and the current phase; in a first step, the number of compiled programs. */
export default function PhaseBar(): ReactNode {
  const { state, phaseTimes, phase, loop, programs, nextPhase, eta } = useRun();
  const active = state === "running" || state === "pausing";
  const next = state === "paused" ? nextPhase : null;
  const rows = eta.rows === null ? "" : ` · ${eta.rows.done}/${counted(eta.rows.total, "row")}`;
  const left = state === "running" ? evaluationLeft(eta) : null;
  const shares = phaseShares(phaseTimes);
  const total = shares.reduce((sum, part) => sum + part.seconds, 0);
  return (
    <section className={`grid gap-3 align-centre ${styles.phases}`} aria-label="Time of the last step">
      <p className="flex gap-6px between muted small nowrap">
        {active && phase !== null ? (
          <span className="muted">
            <b>{PHASE_NAMES[phase]}</b>
            {phase === "eval" ? rows : loop === null ? "" : ` · loop ${loop}`}
          </span>
        ) : next !== null ? (
          <span className="muted" data-testid="paused-before">
            Paused; next: <b>{PHASE_NAMES[next.phase]}</b>
            {next.loop === null ? "" : ` · loop ${next.loop}`}
          </span>
        ) : (
          "Last step"
        )}
        <span>{left ?? (shares.length === 0 ? "" : formatSeconds(total))}</span>
      </p>
      {shares.length === 0 ? (
        <p className={`muted tiny round-s surface-2 ${styles.compiled}`}>
          {programs > 0 ? `${programs} GPU programs compiled` : ""}
        </p>
      ) : (
        <ol className={`relative m-0 p-0 clip round-s surface-2 no-bullets ${styles.bar}`}>
          {shares.map((part, at) => (
            <li
              key={part.phase}
              className="absolute clip surface-2 tiny nowrap"
              data-fill
              style={placeOf(shares, at)}
              data-shade={at % 2}
              data-now={active ? part.phase === phase : part.phase === next?.phase}
              title={`${PHASE_NAMES[part.phase]}: ${formatSeconds(part.seconds)}, ${percent(part.share)}`}
            >
              <span className="block clip muted">
                {PHASE_NAMES[part.phase]} <b>{percent(part.share)}</b>
              </span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

/**
 * Place and width of a phase in the bar. The place is a transform, because it changes with every step and must not move
 * anything else. `--need` is the width of the label, which is hidden in a narrower phase.
 */
function placeOf(shares: readonly PhaseShare[], at: number): CSSProperties {
  const { share, phase } = shares[at] as PhaseShare;
  const before = shares.slice(0, at).reduce((sum, part) => sum + part.share, 0);
  const length = PHASE_NAMES[phase].length + percent(share).length + 1;
  return {
    width: `${100 * share}%`,
    transform: `translateX(${(100 * before) / share}%)`,
    "--need": `calc(${0.9 * length}ch + 12px)`,
  } as CSSProperties;
}

function evaluationLeft(eta: Eta): string | null {
  const rest = evaluationSeconds(eta, Date.now());
  return rest === null ? null : `${roughly(rest)} left`;
}

interface PhaseShare {
  readonly phase: Phase;
  readonly seconds: number;
  /** Share of the whole step, 0..1. */
  readonly share: number;
}

/** Shares of a step's time in the order of the phases; phases that took no time are left out. */
export function phaseShares(times: PhaseTimes): PhaseShare[] {
  const phases = (Object.keys(PHASE_NAMES) as Phase[]).filter((phase) => (times[phase] ?? 0) > 0);
  const total = phases.reduce((sum, phase) => sum + (times[phase] ?? 0), 0);
  return phases.map((phase) => ({ phase, seconds: times[phase] ?? 0, share: (times[phase] ?? 0) / total }));
}
