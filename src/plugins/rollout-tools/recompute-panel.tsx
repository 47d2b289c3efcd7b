/** Computations that repeat a stored run up to a step: probabilities of a rollout, and the step itself. */
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { pluginCalls } from "../../app/clients/lab.ts";
import { loadedBlocker, useBlocker } from "../../app/clients/run/blockers.ts";
import { agreeToRun, selection } from "../../app/clients/run/start-run.ts";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { answerRole } from "../../app/components/rollout/rollout-view.ts";
import type { ViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Slider } from "../../app/components/ui/controls.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { jobKind, startJob, stopJob, useJob } from "../../app/stores/jobs.ts";
import { linkTo, useRoute } from "../../app/stores/route.ts";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { counted, fixed, formatShare, percent, signed } from "../../app/styles/format.ts";
import { encodeRle, maskIou, rleArea } from "../../engine/data/mask/rle.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import type { RolloutLook } from "./look.ts";
import type { RecomputeCalls } from "./recompute-calls.ts";
import type { ReplayReport } from "./replay.ts";
import styles from "./rollout-tools.module.css";

/** A rollout's mask at other thresholds and the alternatives of its tokens, computed on request. */
export function CloserLook({ run, rollout }: { readonly run: ViewedRun; readonly rollout: RolloutRecord }): ReactNode {
  return (
    <div className="grid gap-3" data-testid="closer-look">
      <Repeated
        run={run}
        step={rollout.step}
        id={`probabilities of rollout ${rollout.id}`}
        about="Recomputes the probabilities of the logged tokens and mask from the checkpoint before this step; nothing is stored"
        label="Compute probabilities"
        work={(run, onStep, signal) =>
          pluginCalls<RecomputeCalls>("trainer").look(
            run.id,
            selection(run.config),
            rollout.step,
            rollout.id,
            onStep,
            signal,
          )
        }
      >
        {({ mask, tokens }) => (
          <>
            {mask !== null && <Threshold rollout={rollout} mask={mask} />}
            {tokens.length > 0 && <Alternatives rollout={rollout} tokens={tokens} />}
            {mask === null && tokens.length === 0 && (
              <p>This rollout has neither tokens nor the mask of a single picture</p>
            )}
          </>
        )}
      </Repeated>
    </div>
  );
}

type Probabilities = NonNullable<RolloutLook["mask"]>;

/** The mask at a threshold, beside its probabilities. */
function Threshold({ rollout, mask }: { readonly rollout: RolloutRecord; readonly mask: Probabilities }): ReactNode {
  const { givenMask, loop, rowId, imageId } = rollout;
  const { height, width, values } = mask;
  const [threshold, setThreshold] = useState(0.5);
  const found = useMemo(
    () =>
      encodeRle(
        values.map((level) => Number(level >= 256 * threshold)),
        height,
        width,
      ),
    [values, height, width, threshold],
  );
  const layers = useMemo(
    () => [{ role: "given", mask: givenMask } as const, { role: answerRole(loop), mask: found }],
    [givenMask, loop, found],
  );
  const told = `IoU ${fixed(maskIou(givenMask, found).iou, 3)}, ${formatShare(rleArea(found) / (height * width))} of the picture`;
  return (
    <div className="grid gap-2">
      <div className={`grid gap-2 ${styles.sides}`}>
        <MaskFigure
          rowId={rowId}
          imageId={imageId}
          width={width}
          height={height}
          layers={layers}
          label={`Mask above ${percent(threshold)}, ${told}`}
        />
        <ProbabilityMap mask={mask} />
      </div>
      <Slider
        label="Mask threshold"
        className={styles.threshold ?? ""}
        value={threshold}
        min={0.01}
        max={0.99}
        step={0.01}
        valueText={percent(threshold)}
        onChange={setThreshold}
      />
      <p className="flex between">
        <span className="muted">Threshold {percent(threshold)}</span>
        <b data-testid="at-threshold">{told}</b>
      </p>
    </div>
  );
}

/** Probabilities as grey levels: black for 0, white for 1. */
function ProbabilityMap({ mask: { height, width, values } }: { readonly mask: Probabilities }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pixels = new ImageData(width, height);
    values.forEach((level, at) => {
      pixels.data.set([level, level, level, 255], 4 * at);
    });
    canvas.current?.getContext("2d")?.putImageData(pixels, 0, 0);
  }, [height, width, values]);
  return (
    <canvas
      ref={canvas}
      className="block full-width round-m"
      width={width}
      height={height}
      role="img"
      aria-label="Mask probability of every pixel, from black for 0 to white for 1"
    />
  );
}

/** The tokens of a completion; a click lists the candidates at that position. */
function Alternatives({
  rollout: { actions },
  tokens,
}: {
  readonly rollout: RolloutRecord;
  readonly tokens: RolloutLook["tokens"];
}): ReactNode {
  const [at, setAt] = useState(0);
  const drawn = actions[at];
  if (drawn === undefined) return null;
  const listed = tokens[at] ?? [];
  // A sampled token outside the list takes its logged log-probability.
  const all = listed.some(({ id }) => id === drawn.id)
    ? listed
    : [...listed, { id: drawn.id, label: drawn.label, logp: drawn.samplingLogp }];
  return (
    <div className="grid gap-2">
      <ol className={`flex wrap m-0 p-0 no-bullets ${styles.drawn}`} aria-label="Sampled tokens">
        {actions.map((action, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a token's position is its identity
          <li key={n}>
            <button
              type="button"
              className="framed round-s clear pointer"
              aria-pressed={n === at}
              onClick={() => setAt(n)}
            >
              {shown(action.label)}
            </button>
          </li>
        ))}
      </ol>
      <table className={`full-width small ${styles.choices}`} data-testid="alternatives">
        <TableHead columns={[`Candidates for token ${at + 1}`, "Probability", "log π"]} />
        <tbody>
          {all.map(({ id, label, logp }) => (
            <tr key={id} data-drawn={id === drawn.id}>
              <th scope="row">
                <code>{shown(label)}</code>
                {id === drawn.id && <span className="muted"> sampled</span>}
              </th>
              <td>
                <i data-fill style={{ width: `${60 * Math.exp(logp)}%` }} />
                {percent(Math.exp(logp))}
              </td>
              <td>{signed(logp, 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function shown(label: string): string {
  return label.trim() === "" ? "␣" : label;
}

/**
 * Repeats the step from its seeds and the checkpoint before it, and says whether the result equals the log bit for bit.
 */
export function ReplayStep({ run, step }: { readonly run: ViewedRun; readonly step: number }): ReactNode {
  return (
    <div className="grid gap-3" data-testid="replay">
      <Repeated
        run={run}
        step={step}
        id={`replay of step ${step}`}
        about="Repeats the step from its seeds and the checkpoint before it, and compares every metric, caption, mask and log-probability with the log; nothing is stored"
        label={`Replay step ${step}`}
        work={(run, onStep, signal) =>
          pluginCalls<RecomputeCalls>("trainer").replay(run.id, selection(run.config), step, onStep, signal)
        }
      >
        {(report) => <Outcome report={report} />}
      </Repeated>
    </div>
  );
}

function Outcome({ report }: { readonly report: ReplayReport }): ReactNode {
  const run = useRoute((route) => route.run);
  const { step, from, metrics, otherMetrics, rollouts, otherRollouts } = report;
  const origin = from === 0 ? "the start" : `the checkpoint of step ${from}`;
  const all = `${counted(rollouts, "rollout")} and ${counted(metrics, "metric")}`;
  if (otherMetrics.length + otherRollouts.length === 0) {
    return <b className="accent" role="status">{`Repeated from ${origin}: ${all} equal the log bit for bit`}</b>;
  }
  return (
    <p className="muted" role="status">
      {`Repeated from ${origin}: ${otherRollouts.length} of ${counted(rollouts, "rollout")} and ${otherMetrics.length} of ${counted(metrics, "metric")} differ: `}
      {otherMetrics
        .slice(0, 3)
        .map(({ name, logged, now }) => `${name} ${logged} → ${now ?? "–"}`)
        .join(", ")}
      {otherRollouts[0] !== undefined && (
        <a href={linkTo({ screen: "train", tab: "rollouts", run, step, rollout: otherRollouts[0] })}> first rollout</a>
      )}
    </p>
  );
}

/** A computation that repeats a stored run up to a step: a button, progress, and the result. */
function Repeated<T>(props: {
  readonly run: ViewedRun;
  readonly step: number;
  /** What is computed, unique in the run. */
  readonly id: string;
  readonly about: string;
  readonly label: string;
  readonly work: (run: RunManifest, onStep: (step: number) => void, signal: AbortSignal) => Promise<T>;
  readonly children: (result: T) => ReactNode;
}): ReactNode {
  const { run, step, id, about, label, work, children } = props;
  const active = useRun(({ state }) => isActive(state));
  const missing = useBlocker(loadedBlocker);
  const { manifest, source, writable } = run;
  const name = `${id} of ${run.runId}`;
  const kind = useMemo(() => jobKind<number | null, T>(name), [name]);
  const job = useJob(kind);
  // It occupies the trainer, so it ends with its panel.
  useEffect(() => () => stopJob(kind), [kind]);
  if (manifest === null) return null;
  const blocker = active
    ? "Stop the run first"
    : source === "stored" && !writable
      ? "This run is training in another tab"
      : missing;
  const start = async (): Promise<void> => {
    try {
      await startJob(kind, null, async (signal, show) => {
        await agreeToRun(manifest);
        return work(manifest, show, signal);
      });
    } catch {
      // The job keeps the error, which is shown beside the button.
    }
  };
  return (
    <>
      {job?.state !== "done" && <p className="muted">{about}</p>}
      <div className="row wrap gap-2-3">
        {job?.state === "running" ? (
          <Button onClick={() => stopJob(kind)}>Stop</Button>
        ) : (
          <Button blocker={blocker} onClick={() => void start()}>
            {label}
          </Button>
        )}
        <span role="status" className={job?.problem ? "bad" : "muted"}>
          {job?.problem?.message}
          {job?.state === "running" &&
            (job.progress === null ? "Repeating the first step" : `Step ${job.progress} of ${step}`)}
        </span>
      </div>
      {job?.state === "done" && children(job.result as T)}
    </>
  );
}
