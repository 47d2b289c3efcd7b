/** The place where a run is watched: one time line over its curves, its rollouts and its held-out rows. */
import { Tabs } from "radix-ui";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { act, useStartBlocker } from "../../clients/run/run-actions.ts";
import { InSlices } from "../../components/in-parts.tsx";
import { useHoldToHide } from "../../components/mask/overlay-store.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { rolloutPlace } from "../../components/rollout/rollout-view.ts";
import { NewestRun, StepTitle, shownStep, TimeLine } from "../../components/rollout/time-line.tsx";
import {
  titleOf,
  useEvaluations,
  useLiveStep,
  useNoRun,
  useViewedRun,
  type ViewedRun,
} from "../../components/rollout/use-viewed-run.ts";
import { Button, PlaceLink } from "../../components/ui/button.tsx";
import { Segmented } from "../../components/ui/controls.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import tabStyles from "../../components/ui/tabs.module.css";
import { TabPanel, tabIds } from "../../components/ui/tabs.tsx";
import { ResumeButton } from "../../components/upload/pickers.tsx";
import { navigate, type Route, useRoute } from "../../stores/route.ts";
import { TRAIN_TABS } from "../../stores/route-text.ts";
import { useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { counted } from "../../styles/format.ts";
import { Curves } from "./curves.tsx";
import { HeldOut } from "./held-out.tsx";
import { Inspector, useInspected, useInspectorKeys } from "./inspector.tsx";
import { bestOfStrip } from "./live.tsx";
import { Rollouts, useSearch, useStepView } from "./rollouts.tsx";
import styles from "./train.module.css";

const NAMES: Readonly<Record<Route["tab"], string>> = {
  curves: "Curves",
  rollouts: "Rollouts",
  "held-out": "Held-out",
};
/** Beginning of the ids of the tabs. */
const TABS = "train";
const PARTS = { run: "Held-out rows", suites: "Suites" } as const;

/** Why the step in the address is not the one that a tab shows. */
const LACKING: Readonly<Record<Route["tab"], string>> = {
  curves: "has no rollouts",
  rollouts: "has no rollouts",
  "held-out": "was not evaluated",
};

const NO_STEP = "It ended in its first step, which is not kept: it has no curves, rollouts or checkpoint";

/** Curves, rollouts and held-out rows of a run. */
export function TrainScreen(): ReactNode {
  useHoldToHide();
  const run = useViewedRun();
  const noRun = useNoRun(run);
  const tab = useRoute((route) => route.tab);
  const starting = useRun(({ state }) => state === "starting");
  const suites = useRoute((route) => route.part === "suites") && tab === "held-out" && hasPanels("suites");
  const ended = useRun(({ state, step }) => step === 0 && (state === "finished" || state === "failed"));
  // A run that cannot be read is for example a link to one of another browser.
  const problem = run?.manifest === null ? run.problem : ended && run?.source === "live" ? NO_STEP : null;
  return (
    <Tabs.Root
      asChild
      value={tab}
      onValueChange={(next) => navigate({ tab: TRAIN_TABS.find((one) => one === next) ?? "curves" })}
    >
      {run !== null && problem === null && !suites ? (
        <RunView key={run.runId} run={run} tab={tab} />
      ) : (
        <div className="screen" data-testid="screen-train">
          {(suites || noRun || problem !== null) && (
            <>
              {/* As with a run, so that the tabs stay where they are when it begins. */}
              {starting && !suites && (
                <>
                  <header>
                    <h1>Starting…</h1>
                  </header>
                  <TimeLine steps={[]} selected={null} asked={null} />
                </>
              )}
              <TabList />
              <TabPanel of={TABS} tab={tab} className="grid gap-3 min-0">
                {tab === "held-out" && <EvaluationPart />}
                {suites ? (
                  <PluginPanels at="suites" given={{}} />
                ) : starting ? (
                  <Empty title="The run is starting" actions={null}>
                    <p role="status">Its first rollouts appear here, then its curves</p>
                  </Empty>
                ) : (
                  <NoRun problem={problem} />
                )}
              </TabPanel>
            </>
          )}
        </div>
      )}
    </Tabs.Root>
  );
}

function TabList(): ReactNode {
  return (
    <Tabs.List className={`flex wrap ${tabStyles.list}`} aria-label="Views of the run">
      {TRAIN_TABS.map((tab) => (
        <Tabs.Trigger key={tab} value={tab} {...tabIds(TABS, tab)} className={tabStyles.tab} data-testid={`tab-${tab}`}>
          {NAMES[tab]}
        </Tabs.Trigger>
      ))}
    </Tabs.List>
  );
}

/** Held-out rows of the run, or the suites of the field, where a plug-in has them. */
function EvaluationPart(): ReactNode {
  const part = useRoute((route) => route.part);
  return (
    <>
      {hasPanels("suites") && (
        <div>
          <Segmented label="Evaluation" options={PARTS} value={part} onChange={(value) => navigate({ part: value })} />
        </div>
      )}
      {part === "run" && <PluginPanels at="stopped-work" given={{}} />}
    </>
  );
}

function RunView({ run, tab }: { readonly run: ViewedRun; readonly tab: Route["tab"] }): ReactNode {
  const written = useRoute((route) => route.step);
  const opened = useRoute(({ rollout }) => rolloutPlace(rollout)?.step ?? null);
  // An address may name only a rollout; beside one of a run of this page the newest step is followed.
  const asked = written ?? (run.source === "live" || opened === run.steps.at(-1) ? null : opened);
  const liveStep = useLiveStep(run);
  const evaluations = useEvaluations(run);
  const search = useSearch(run, tab === "rollouts");
  const evaluated = useMemo(() => evaluations.list.map(({ report: { step } }) => step), [evaluations.list]);
  const stops = tab === "held-out" ? evaluated : tab === "rollouts" ? search.steps : run.steps;
  const step = shownStep(stops, asked);
  const inspected = useInspected(run);
  const view = useStepView(run, tab === "held-out" ? null : step, search);
  const table = useRoute((route) => tab === "rollouts" && route.view !== "step");
  const field = useRef<HTMLInputElement>(null);
  const [shell, setShell] = useState<HTMLElement | null>(null);
  // With the next frame, which lays the tab out anyway.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a tab begins at its top
  useEffect(() => {
    const next = requestAnimationFrame(() => document.getElementById("main")?.scrollTo(0, 0));
    return () => cancelAnimationFrame(next);
  }, [tab]);
  useInspectorKeys({
    inspected,
    offered: tab === "rollouts" ? view.rollouts : [],
    best: tab === "curves" ? bestOfStrip(view.found.groups) : view.rollouts[0],
    steps: stops,
    step,
    table,
    find: () => field.current?.focus(),
  });
  return (
    <div ref={setShell} className={styles.shell} data-testid="screen-train">
      <div className="screen">
        <header className="row wrap gap-2-3">
          <h1>{titleOf(run)}</h1>
          <span className="muted">{run.kind}</span>
          <NewestRun run={run} />
          <StepTitle shown={asked === null && tab !== "rollouts" ? null : step} asked={asked} lacking={LACKING[tab]} />
          <ResumeButton run={run} />
        </header>
        {run.problem !== null && <p className="bad">{run.problem}</p>}
        {(run.source === "live" || stops.length > 1) && (
          <TimeLine steps={stops} selected={step} asked={asked} live={liveStep} />
        )}
        <TabList />
        <TabPanel key={tab} of={TABS} tab={tab} className="grid gap-3 min-0" data-testid={`panel-${tab}`}>
          <InSlices>
            {tab === "curves" && <Curves run={run} step={step} asked={asked} />}
            {tab === "rollouts" && (
              <Rollouts run={run} search={search} view={view} opened={inspected?.rollout?.id ?? null} field={field} />
            )}
            {tab === "held-out" && (
              <>
                <EvaluationPart />
                <HeldOut run={run} step={step} beside={shell} />
              </>
            )}
          </InSlices>
        </TabPanel>
      </div>
      {inspected !== null && <Inspector run={run} inspected={inspected} />}
    </div>
  );
}

/** Without a run: a description of this screen, or why there is none, and the start button. */
function NoRun({ problem }: { readonly problem: string | null }): ReactNode {
  const rows = useSession((session) => session.rows.length);
  const model = useSession((session) => session.model);
  const blocker = useStartBlocker();
  return (
    <Empty
      title={problem === null ? "No run yet" : "This run has nothing to show"}
      actions={
        <>
          <Button kind="primary" icon={<IconPlay />} blocker={blocker} onClick={() => act("start")}>
            Start
          </Button>
          <PlaceLink to={{ screen: "setup" }}>Change settings</PlaceLink>
          <PlaceLink to={{ screen: "runs", run: null }}>Open a stored run</PlaceLink>
        </>
      }
    >
      <p>{problem ?? "Rewards, masks and captions of every rollout appear here during a run"}</p>
      <p>{blocker ?? `${model?.name ?? "Model"} and ${counted(rows, "row")} ${rows === 1 ? "is" : "are"} ready`}</p>
    </Empty>
  );
}
