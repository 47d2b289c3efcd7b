/** What the inspector computes or reads only when asked: other settings, other thresholds, the same row over time, the record. */
import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { weightKey } from "../../../engine/config/groups/reward-weights.ts";
import { parseSetting } from "../../../engine/config/parse.ts";
import type { Setting } from "../../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { encodeRle, maskIou, rleArea } from "../../../engine/data/mask/rle.ts";
import { toLabError } from "../../../engine/errors.ts";
import type { TermName } from "../../../engine/rewards/terms/registry.ts";
import { type WhatIf, whatIf } from "../../../engine/rl/step/what-if.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import type { GroupRecord, LoopId, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../../engine/runs/rollouts/rollout-facts.ts";
import type { RolloutLook } from "../../../engine/session/look.ts";
import type { ReplayReport } from "../../../engine/session/replay.ts";
import { loadedBlocker } from "../../clients/run/blockers.ts";
import { lookAtRollout, replayStep } from "../../clients/run/start-run.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
import { unreadText } from "../../components/rollout/group-source.ts";
import { CopyButton } from "../../components/rollout/reward/caption-diff.tsx";
import {
  answerRole,
  figureLabel,
  GIVEN_AND_ANSWER,
  layersOf,
  sortRollouts,
  termName,
} from "../../components/rollout/rollout-view.ts";
import { groupKey, useAllGroups, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { Select, Slider, TextInput } from "../../components/ui/controls.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { Tabs } from "../../components/ui/tabs.tsx";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { counted, fixed, formatShare, NONE, percent, signed } from "../../styles/format.ts";
import styles from "./inspector.module.css";

/** The group of the inspected rollout, and all groups of its loop in the step. */
interface MoreProps {
  readonly run: ViewedRun;
  readonly rollout: RolloutRecord;
  readonly group: GroupRecord;
  readonly loopGroups: readonly GroupRecord[];
  readonly config: LabConfig;
}

export function More(props: MoreProps): ReactNode {
  const { run, rollout, group, loopGroups, config } = props;
  return (
    <Tabs
      label="More about this rollout"
      tabs={[
        {
          id: "what-if",
          label: "What if",
          content: (
            <WhatIfPanel key={`${group.step} ${groupKey(group)}`} group={group} groups={loopGroups} config={config} />
          ),
        },
        {
          id: "recompute",
          label: "Recompute",
          content: (
            <div className="grid gap-4">
              <CloserLook key={rollout.id} run={run} rollout={rollout} />
              <ReplayStep key={group.step} run={run} step={group.step} />
            </div>
          ),
        },
        { id: "history", label: "History", content: <RowHistory run={run} group={group} /> },
        { id: "raw", label: "Raw", content: <Raw rollout={rollout} /> },
      ]}
    />
  );
}

const OBJECTIVE = ["scaleRewards", "lossType", "epsilonLow", "epsilonHigh", "beta", "klEstimator"] as const;

type Answer = { readonly result: WhatIf; readonly problem: null } | { readonly result: null; readonly problem: string };

/** A finished step under other settings, recomputed at once. @param groups all of this loop in the step */
function WhatIfPanel(props: {
  readonly group: GroupRecord;
  readonly groups: readonly GroupRecord[];
  readonly config: LabConfig;
}): ReactNode {
  const { group, groups, config } = props;
  const [changes, setChanges] = useState<Partial<LabConfig>>({});
  const now = useMemo(() => answerOf(groups, config), [groups, config]);
  const then = useMemo(() => answerOf(groups, { ...config, ...changes }), [groups, config, changes]);
  const terms = [
    ...new Set(groups.flatMap(({ rollouts }) => rollouts.flatMap((one) => one.terms.map(({ name }) => name)))),
  ];
  const keys: readonly SettingKey[] = [
    ...terms
      .filter((name) => weightKey(group.loop, name as TermName) in SETTINGS)
      .map((name) => weightKey(group.loop, name as TermName)),
    ...OBJECTIVE,
  ];
  const place = groups.indexOf(group);
  const changed = Object.keys(changes).length > 0;
  return (
    <div className="grid gap-3" data-testid="what-if">
      <p className="muted">
        Recomputes rewards, advantages and the loss of the first pass with other settings, for the same rollouts
      </p>
      <div className={`grid gap-2-3 ${styles.fields}`}>
        {keys.map((name) => (
          <Field
            key={name}
            name={name}
            label={labelOf(name, group, terms)}
            value={{ ...config, ...changes }[name]}
            onChange={(value) => setChanges({ ...changes, [name]: value })}
          />
        ))}
      </div>
      {then.problem !== null && <p className="bad">{then.problem}</p>}
      <p className="row wrap gap-2-3 min-control" data-testid="what-if-loss">
        Loss of loop {group.loop} <b>{fixed(now.result?.loss?.loss, 5)}</b>
        {changed && (
          <>
            → <b className="accent">{fixed(then.result?.loss?.loss, 5)}</b>
            <Button kind="quiet" onClick={() => setChanges({})}>
              Reset
            </Button>
          </>
        )}
      </p>
      <table>
        <TableHead columns={["Rollout", "Reward", "New", "Advantage", "New"]} />
        <tbody>
          {group.rollouts.map((rollout, n) => (
            <tr key={rollout.id}>
              <th scope="row">{rollout.index + 1}</th>
              <td>{fixed(rollout.reward, 3)}</td>
              <td>{then.result === null ? NONE : fixed(then.result.rewards[place]?.[n], 3)}</td>
              <td>{signed(rollout.advantage, 3)}</td>
              <td>{then.result === null ? NONE : signed(then.result.scores[place]?.advantages[n] ?? Number.NaN, 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function answerOf(groups: readonly GroupRecord[], config: LabConfig): Answer {
  try {
    return { result: whatIf(groups, config), problem: null };
  } catch (thrown) {
    return { result: null, problem: toLabError(thrown).message };
  }
}

function labelOf(name: SettingKey, group: GroupRecord, terms: readonly string[]): string {
  const term = terms.find((one) => weightKey(group.loop, one as TermName) === name);
  return term === undefined ? SETTINGS[name].label : `Weight of ${termName(term)}`;
}

/** One setting: a choice, or a number that counts as soon as it is valid. */
function Field(props: {
  readonly name: SettingKey;
  readonly label: string;
  readonly value: LabConfig[SettingKey];
  readonly onChange: (value: unknown) => void;
}): ReactNode {
  const { name, label, value, onChange } = props;
  const setting: Setting = SETTINGS[name];
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <div className="grid gap-1 min-0">
      <label className="muted small" htmlFor={id}>
        {label}
      </label>
      {setting.kind === "choice" ? (
        <Select id={id} options={setting.choices} value={String(value)} onChange={onChange} />
      ) : (
        <TextInput
          id={id}
          inputMode="decimal"
          value={draft ?? String(value)}
          onChange={(event) => {
            const text = event.currentTarget.value;
            setDraft(text);
            const parsed = parseSetting(name, text);
            if ("value" in parsed) onChange(parsed.value);
          }}
          onBlur={() => setDraft(null)}
        />
      )}
    </div>
  );
}

/** A rollout's mask at other thresholds and the alternatives of its tokens, computed on request. */
function CloserLook({ run, rollout }: { readonly run: ViewedRun; readonly rollout: RolloutRecord }): ReactNode {
  return (
    <div className="grid gap-3" data-testid="closer-look">
      <Repeated
        run={run}
        step={rollout.step}
        about="Recomputes the probabilities of the logged tokens and mask from the checkpoint before this step; nothing is stored"
        label="Compute probabilities"
        work={(manifest, onStep, signal) => lookAtRollout(manifest, rollout, onStep, signal)}
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
    : [...listed, { id: drawn.id, label: drawn.label, logp: drawn.oldLogp }];
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
function ReplayStep({ run, step }: { readonly run: ViewedRun; readonly step: number }): ReactNode {
  return (
    <div className="grid gap-3" data-testid="replay">
      <Repeated
        run={run}
        step={step}
        about="Repeats the step from its seeds and the checkpoint before it, and compares every metric, caption, mask and log-probability with the log; nothing is stored"
        label={`Replay step ${step}`}
        work={(manifest, onStep, signal) => replayStep(manifest, step, onStep, signal)}
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

type State<T> =
  | { readonly kind: "idle" }
  | { readonly kind: "busy"; readonly at: number | null }
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "failed"; readonly message: string };

/** A computation that repeats a stored run up to a step: a button, progress, and the result. */
function Repeated<T>(props: {
  readonly run: ViewedRun;
  readonly step: number;
  readonly about: string;
  readonly label: string;
  readonly work: (run: RunManifest, onStep: (step: number) => void, signal: AbortSignal) => Promise<T>;
  readonly children: (result: T) => ReactNode;
}): ReactNode {
  const { run, step, about, label, work, children } = props;
  const active = useRun(({ state }) => isActive(state));
  const missing = useSession(loadedBlocker);
  const [state, setState] = useState<State<T>>({ kind: "idle" });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const { manifest, otherTabs } = run;
  if (manifest === null) return null;
  const blocker = active ? "Stop the run first" : otherTabs ? "This run is training in another tab" : missing;
  const start = async (): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    setState({ kind: "busy", at: null });
    try {
      const result = await work(manifest, (at) => setState({ kind: "busy", at }), stop.signal);
      setState({ kind: "done", result });
    } catch (thrown) {
      const { code, message } = toLabError(thrown);
      setState(code === "cancelled" ? { kind: "idle" } : { kind: "failed", message });
    }
  };
  return (
    <>
      {state.kind !== "done" && <p className="muted">{about}</p>}
      <div className="row wrap gap-2-3">
        {state.kind === "busy" ? (
          <Button onClick={() => running.current?.abort()}>Stop</Button>
        ) : (
          <Button blocker={blocker} onClick={() => void start()}>
            {label}
          </Button>
        )}
        <span role="status" className={state.kind === "failed" ? "bad" : "muted"}>
          {state.kind === "failed" && state.message}
          {state.kind === "busy" && (state.at === null ? "Repeating the first step" : `Step ${state.at} of ${step}`)}
        </span>
      </div>
      {state.kind === "done" && children(state.result)}
    </>
  );
}

const sameRow = (group: GroupRecord, loop: LoopId, rowId: string): boolean =>
  group.loop === loop && group.rowId === rowId;

/** The best rollout of the same row and loop at every step that sampled it. */
function RowHistory(props: { readonly run: ViewedRun; readonly group: GroupRecord }): ReactNode {
  const { run, group } = props;
  const [wanted, setWanted] = useState(false);
  const scan = useAllGroups(run, wanted);
  const same = useMemo(
    () =>
      // The shown group belongs to the history, whether or not its step was read.
      [
        group,
        ...scan.groups.filter(({ step, loop, rowId }) => step !== group.step && sameRow(group, loop, rowId)),
      ].sort((a, b) => a.step - b.step),
    [scan.groups, group],
  );
  const complete = scan.done >= scan.total;
  const unread = unreadText(scan);
  return (
    <div className="grid gap-3">
      <p className="row gap-3 muted">
        Row {group.rowId} in loop {group.loop}: sampled {counted(same.length, "time")} in {Math.max(1, scan.done)} of{" "}
        {scan.total} steps read
        {!complete && !wanted && <Button onClick={() => setWanted(true)}>Read all steps</Button>}
      </p>
      {unread !== null && <p className="bad">{unread}</p>}
      <ol className={`flex gap-3 m-0 scroll-x no-bullets ${styles.film}`}>
        {same.map((drawn) => {
          const best = sortRollouts(drawn.rollouts, "reward")[0];
          if (best === undefined) return null;
          const [height, width] = best.givenMask.size;
          return (
            <li
              key={`${drawn.step} ${groupKey(drawn)}`}
              className="clip framed round-m"
              data-now={drawn.step === group.step}
            >
              <MaskFigure
                rowId={best.rowId}
                imageId={best.imageId}
                width={width}
                height={height}
                layers={layersOf(best, GIVEN_AND_ANSWER)}
                label={`step ${drawn.step}, ${figureLabel(best)}`}
              />
              <button
                type="button"
                className="grid full-width borderless clear text-left pointer"
                onClick={() => navigate({ step: drawn.step, group: groupKey(drawn), rollout: best.id })}
              >
                <span className="flex between">
                  Step {drawn.step} <b>{fixed(drawn.rewardMean, 2)}</b>
                </span>
                <small className="clip muted small">{generatedText(best.loop, best) ?? NONE}</small>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function Raw({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  const text = useMemo(() => JSON.stringify(rollout, null, 2), [rollout]);
  return (
    <div className={styles.raw}>
      <CopyButton text={text} what="the record as JSON" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
      <pre className="p-3 round-m surface-2 anywhere" tabIndex={0}>
        {text.length > 200_000 ? `${text.slice(0, 200_000)}\n…` : text}
      </pre>
    </div>
  );
}
