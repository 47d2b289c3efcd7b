import { type ReactNode, useMemo, useState, useSyncExternalStore } from "react";
import { activeLoops, weightedLoops } from "../../../engine/config/derived.ts";
import { MODES } from "../../../engine/config/modes.ts";
import { HELD_OUT_LOOPS } from "../../../engine/rl/loops/abouts.ts";
import { fewPicturesText } from "../../../engine/runs/evaluations/difference-text.ts";
import { chooseText, reportPictures, SCORES, scoreOf } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { gainsOf } from "../../../engine/runs/evaluations/gains.ts";
import { report } from "../../clients/lab.ts";
import { builtInRows, hasOwnModel, openDemoSet } from "../../clients/loading.ts";
import { act, useStartBlocker } from "../../clients/run/run-actions.ts";
import { BeforeAfter, GainNumbers } from "../../components/before-after.tsx";
import { smooth } from "../../components/charts/series.ts";
import { Sparkline } from "../../components/charts/sparkline.tsx";
import { PluginPanels } from "../../components/place/place.tsx";
import { rewardText } from "../../components/rollout/rollout-view.ts";
import { titleOf, useEvaluations, useViewedRun, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button, PlaceLink } from "../../components/ui/button.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { ResumeButton } from "../../components/upload/pickers.tsx";
import { jobKind, startJob, useRunning } from "../../stores/jobs.ts";
import { linkTo, openScreen, useRoute } from "../../stores/route.ts";
import { isActive, PHASE_NAMES, useRun } from "../../stores/run/run.ts";
import { choosePreset, isUntouched, useSession } from "../../stores/session.ts";
import { counted, formatCount } from "../../styles/format.ts";
import styles from "./home.module.css";

/** The user's newest run with its result; for a visitor, the lab in one sentence and on the real rows of the recorded run. */
export function HomeScreen(): ReactNode {
  const run = useViewedRun();
  const [step, setStep] = useState<number | null>(null);
  const { list, loading } = useEvaluations(run);
  // A stored run is drawn when all its parts are read, so that no part moves another.
  const read = run?.source === "live" || !(run === null || run.loading || loading);
  const evaluations = read ? list : NONE;
  const asked = useRoute((route) => route.run !== null);
  const recorded = useSession(({ recordedRun }) => recordedRun);
  const begun = useRun(({ state, step: done }) => isActive(state) || done > 0);
  const own = run !== null && run.problem === null && run.runId !== recorded && (run.source !== "live" || begun);
  // Before, the page cannot distinguish a visitor from a user.
  const looked = useSession(({ newest }) => newest !== undefined) && !(asked && recorded === undefined);
  return (
    <div className={`screen gap-4 ${styles.screen}`} data-testid="screen-home">
      <section className={`grid align-centre ${styles.hero}`}>
        <div className={`grid gap-4 ${styles.words}`}>
          {looked && (own ? <OwnRun run={run} recorded={recorded ?? null} /> : <Welcome />)}
          <PluginPanels at="stopped-work" given={{}} quiet />
        </div>
        {run !== null && read && <MainCurve run={run} step={step} evaluations={evaluations} />}
      </section>
      {/* Without a key, so that the rows of the recorded run are those of the run that follows it. */}
      <Learnt run={run} evaluations={evaluations} />
      {run !== null && read && <PluginPanels at="playback" given={{ run, onStep: setStep }} quiet />}
    </div>
  );
}

const NONE: readonly StoredEvaluation[] = [];

/** What held-out rows show of the training, and why it happens. */
function Learnt(props: {
  readonly run: ViewedRun | null;
  readonly evaluations: readonly StoredEvaluation[];
}): ReactNode {
  const { run, evaluations } = props;
  const config = run?.manifest?.config;
  const loops = config?.mode === "rl" ? weightedLoops(config) : [];
  const [first] = loops;
  const next = useSession((session) => session.config);
  // The recorded run shows rows that a run of these settings answers, too.
  const among = run?.source === "stored" ? Infinity : next.evalRows - Math.round(next.evalRows * next.selectionShare);
  const expected = useRun(({ state }) => isActive(state)) && config?.evalSteps !== 0;
  if (!expected && evaluations.length === 0) return null;
  return (
    <BeforeAfter evaluations={evaluations} loops={loops} place={run?.place ?? null} among={among}>
      {config !== undefined && first !== undefined && (
        <p className={`muted ${styles.why}`}>{rewardText(config, first)}.</p>
      )}
    </BeforeAfter>
  );
}

/** For a visitor without a run. */
function Welcome(): ReactNode {
  const blocker = useStartBlocker();
  const changed = useSession(({ preset }) => !isUntouched(preset));
  const unfit = useSession(({ plan }) => plan?.rows[0]?.sentence);
  return (
    <>
      <h1>A model learns to name regions and to find them again</h1>
      <p className={`muted large ${styles.lead}`}>
        Train a Sa2VA checkpoint with dual-loop GRPO in this tab, on your own GPU. Nothing is uploaded.
      </p>
      <div className="row wrap gap-2-3">
        <Button
          kind="primary"
          className={styles.begin ?? ""}
          icon={<IconPlay />}
          blocker={blocker}
          data-testid="train-it-yourself"
          onClick={() => act("start", true)}
        >
          {changed ? "Train with your settings" : "Train it yourself"}
        </Button>
        <PlaceLink to={{ screen: "data" }}>Use your own data</PlaceLink>
        <Repair />
      </div>
      {unfit !== undefined && (
        <p className="warn" data-testid="home-warning">
          {unfit}. <PlaceLink to={{ screen: "setup" }}>Setup</PlaceLink> offers what helps
        </p>
      )}
    </>
  );
}

/** A run of the user: how far it is, and what can be done with its result. @param props.recorded id of the visitor's demo */
function OwnRun({ run, recorded }: { readonly run: ViewedRun; readonly recorded: string | null }): ReactNode {
  const { manifest, metrics, source, writable } = run;
  const active = useRun(({ state }) => source === "live" && isActive(state));
  const step = useRun((state) => (source === "live" ? state.step : metrics.steps.at(-1)));
  // Until then a press may still be meant for the button that stood here before.
  const begun = useRun(({ phase, step: done }) => phase !== null || done > 0);
  const compare = recorded === null ? [run.runId] : [run.runId, recorded];
  return (
    <>
      <h1>{active || !writable ? "Your run" : "Your run has ended"}</h1>
      <p className={`muted large ${styles.lead}`} data-testid="home-run">
        {titleOf(run)}
        {manifest !== null && `: step ${formatCount(step)} of ${formatCount(manifest.config.steps)}`}
        {!writable && `, ${run.kind}`}
        {active && manifest?.config.evalSteps !== 0 && ". The rows below are answered again at every evaluation"}
      </p>
      <div className="row wrap gap-2-3">
        {active ? (
          <Button
            kind="primary"
            className={styles.begin ?? ""}
            blocker={begun ? null : "The run has just begun"}
            onClick={() => openScreen("train")}
          >
            Watch its curves and rollouts
          </Button>
        ) : (
          <>
            <Button kind="primary" className={styles.begin ?? ""} onClick={() => openScreen("data")}>
              Now your data
            </Button>
            <ResumeButton run={run} />
            <PlaceLink to={{ screen: "runs", compare }}>Compare</PlaceLink>
            <PlaceLink to={{ screen: "runs" }}>Export</PlaceLink>
            {recorded !== null && <PlaceLink to={{ screen: "home", run: recorded }}>Demo</PlaceLink>}
          </>
        )}
      </div>
    </>
  );
}

const REPAIR = jobKind<true>("opening of the damaged model");

/** Opens the model whose masks are damaged and starts its run; a model of the user's own stays and is not trained. */
function Repair(): ReactNode {
  const opening = useRunning(REPAIR) !== null;
  const noGpu = useSession(({ gpuError }) => gpuError?.message ?? null);
  const own = useSession(({ model }) => model !== null) && hasOwnModel();
  const rows = useSession(({ dataInfo }) => dataInfo?.name);
  const instead = rows === undefined || builtInRows(rows) !== undefined ? "" : `, with its rows instead of ${rows}`;
  const blocker = own ? "Your own model is open; this run needs the demo model whose masks are damaged" : noGpu;
  const begin = async (): Promise<void> => {
    await startJob(REPAIR, true, () => openDemoSet("repair"));
    choosePreset("repair");
    act("start");
  };
  return (
    <Button
      title="Opens the pocket shards and a model whose masks are damaged; loop 2 then repairs them from captions"
      blocker={blocker ?? (opening ? "The damaged model is loading; its run starts by itself" : null)}
      aria-busy={opening}
      data-testid="open-repair"
      onClick={() => report(begin())}
    >
      {opening ? "Loading the damaged model…" : `Let loop 2 repair masks${instead}`}
    </Button>
  );
}

const SMOOTHING = 0.8;

/** Reward, or the first loss of a run without rewards, over the steps so far, and what the run gained on held-out rows. */
function MainCurve(props: {
  readonly run: ViewedRun;
  readonly step: number | null;
  readonly evaluations: readonly StoredEvaluation[];
}): ReactNode {
  const { run, step, evaluations } = props;
  const { metrics, manifest } = run;
  const live = run.source === "live";
  const length = useSyncExternalStore(
    (changed) => metrics.subscribe(changed),
    () => metrics.length,
  );
  const config = manifest?.config;
  const loops = config === undefined ? HELD_OUT_LOOPS.map(({ id }) => id) : activeLoops(config);
  const loss = MODES.find(({ name }) => name === config?.mode)?.charts[0];
  const loop = HELD_OUT_LOOPS.find(({ id }) => metrics.names.includes(`loop${id}/reward`))?.id ?? loops[0];
  const metric = loss?.series[0]?.metric ?? `loop${loop}/reward`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the length says that values were added
  const values = useMemo(() => [...smooth(metrics.column(metric), SMOOTHING)], [metrics, metric, length]);
  const upTo = useMemo(
    () => (step === null || live ? length - 1 : metrics.steps.findLastIndex((own) => own <= step)),
    [metrics, length, step, live],
  );
  const last = evaluations.at(-1);
  const differenceOf = (id: (typeof SCORES)[number]) =>
    last === undefined ? null : (scoreOf(last.report, id)?.difference ?? null);
  const known = SCORES.filter((id) => differenceOf(id) !== null);
  const gain = known.length === 0 ? undefined : gainsOf(known, loops, "loop")[0];
  const pictures = reportPictures(last?.rows ?? []);
  const few = fewPicturesText(pictures);
  const active = useRun(({ state }) => live && isActive(state));
  const begun = values.filter(Number.isFinite).length > (active ? 1 : 0);
  if (!begun && !active) return null;
  const due = config === undefined || config.evalSteps === 0 ? null : Math.min(config.evalSteps, config.steps);
  const name = loss?.title ?? "Reward";
  const answers = linkTo({ screen: "train", tab: "held-out", run: run.place });
  return (
    <figure className={`grid gap-2 ${styles.curve}`} data-testid="home-curve">
      <a
        className={`grid ${styles.plot} ${styles.quiet}`}
        href={linkTo({ screen: "train", tab: "curves", run: run.place })}
      >
        {begun ? (
          <Sparkline values={values} upTo={upTo} steps={metrics.steps} name={loss?.title ?? `Reward of loop ${loop}`} />
        ) : (
          <Working />
        )}
      </a>
      <figcaption className="muted">
        {begun
          ? `${name}, smoothed, over ${counted(length, "step")}`
          : `The curve of the ${name.toLowerCase()} begins with step 2`}
        {gain === undefined && active && due !== null && `; the gain on held-out rows is first measured at step ${due}`}
        {gain !== undefined && last !== undefined && (
          <>
            ; gain in {gain.name} on <a href={answers}>{counted(last.report.n, "held-out row")}</a>
            {chooseText(last.report)}
            <a className={styles.quiet} href={answers}>
              <GainNumbers className={`flex wrap ${styles.gain}`} gain={gain} of={differenceOf} pictures={pictures} />
            </a>
            {few !== "" && <span className="warn">{few}</span>}
          </>
        )}
      </figcaption>
    </figure>
  );
}

/** What the run of this page does, before it has a curve. */
function Working(): ReactNode {
  const { state, phase, loop, step } = useRun();
  return (
    <div className="grid gap-2 align-start">
      <b className="large">Step {step + 1}</b>
      <span className="muted">
        {loop !== null && `loop ${loop}: `}
        {phase === null ? "preparing" : PHASE_NAMES[phase]}
      </span>
      {state !== "paused" && <progress className="full-width" aria-label="Work on the first steps" />}
    </div>
  );
}
