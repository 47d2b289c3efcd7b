import { type ReactNode, useMemo, useState } from "react";
import { unreadText } from "../../app/clients/run/run-reads.ts";
import { AllSteps, LiveChart } from "../../app/components/charts/live-chart.tsx";
import type { ChartSpec } from "../../app/components/charts/series.ts";
import { Nothing } from "../../app/components/rollout/time-line.tsx";
import { groupKey, type Scan, type ViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { navigate, useRoute } from "../../app/stores/route.ts";
import { MetricStore } from "../../app/stores/run/metrics.ts";
import { counted } from "../../app/styles/format.ts";
import { LOOP_IDS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import styles from "./across.module.css";
import {
  GROUP_MEASURES,
  gradientSpikes,
  measureName,
  rewardRidges,
  rowDraws,
  type Spike,
  stepMeasures,
  termShares,
  tokenPlaces,
} from "./group-measures.ts";
import { HeatMap } from "./heat-map.tsx";
import { RidgePlot } from "./ridge-plot.tsx";
import { RowTable } from "./row-table.tsx";
import { ShareArea } from "./share-area.tsx";
import { SpikeList } from "./spike-list.tsx";
import { TokenPlot } from "./token-plot.tsx";

const BANDS = 10;
const BINS = 30;
const SPIKES = 5;
const VIEW = { smoothing: 0.6, axis: "step" } as const;

/** Name of the charts of a run, which zoom together. */
const syncOf = ({ runId }: ViewedRun): string => `across ${runId}`;

/** Shows the groups of one step. */
function openStep(step: number): void {
  navigate({ view: "step", step, group: null, rollout: null });
}

/** All rollouts of a run together, from the sampled rows to the tokens. */
export default function AcrossView({ run, scan }: { readonly run: ViewedRun; readonly scan: Scan }): ReactNode {
  const { groups } = scan;
  const loops = LOOP_IDS.filter((id) => groups.some((group) => group.loop === id));
  const [wanted, setLoop] = useState<LoopId | null>(null);
  const loop = loops.find((id) => id === wanted) ?? loops[0];
  const unread = unreadText(scan);
  const reading = scan.done < scan.total;
  if (loop === undefined) {
    return <Nothing run={run} loading={reading} problem={reading ? null : unread} filtered={false} />;
  }
  return (
    <div className="grid gap-4" data-testid="across">
      <div className="row wrap gap-2-4 between">
        <Segmented
          label="Loop"
          options={loops.map((id) => ({ value: String(id), label: `Loop ${id}` }))}
          value={String(loop)}
          onChange={(value) => setLoop(LOOP_IDS.find((id) => String(id) === value) ?? null)}
        />
        <AllSteps sync={syncOf(run)} axis="step" />
        <p className="muted" role="status">
          {reading ? `${scan.done} of ${scan.total} steps read` : counted(scan.total, "step")}
        </p>
      </div>
      {unread !== null && <p className="bad">{unread}</p>}
      <OfLoop key={loop} run={run} groups={groups} loop={loop} />
    </div>
  );
}

function OfLoop(props: {
  readonly run: ViewedRun;
  readonly groups: readonly GroupRecord[];
  readonly loop: LoopId;
}): ReactNode {
  const { run, groups, loop } = props;
  const marked = useRoute((route) => route.step);
  const own = useMemo(() => groups.filter((group) => group.loop === loop), [groups, loop]);
  const rows = useMemo(() => rowDraws(own), [own]);
  const ridges = useMemo(() => rewardRidges(own, BANDS, BINS), [own]);
  const shares = useMemo(() => termShares(own), [own]);
  const places = useMemo(() => tokenPlaces(own), [own]);
  const source = useMemo(() => {
    const store = new MetricStore();
    store.load(stepMeasures(own));
    return store;
  }, [own]);
  // The store is read outside React; the groups grow with its steps.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const spikes = useMemo(() => largestNorms(run.metrics), [run.metrics, own]);
  const charts = useMemo(() => measureCharts(loop), [loop]);
  const open = (group: GroupRecord): void =>
    navigate({ view: "step", step: group.step, group: groupKey(group), rollout: null });
  return (
    <>
      <Panel title="Reward of every row at every step">
        <HeatMap rows={rows} marked={marked} onOpen={open} />
      </Panel>
      <div className={`grid gap-3 ${styles.charts}`}>
        {charts.map((spec) => (
          <LiveChart
            key={spec.id}
            spec={spec}
            source={source}
            view={VIEW}
            sync={syncOf(run)}
            step={marked}
            onPick={openStep}
          />
        ))}
      </div>
      <div className={`grid gap-3 ${styles.pairs}`}>
        <Panel title="Distribution of rewards">
          <RidgePlot ridges={ridges} loop={loop} />
        </Panel>
        <Panel title="Reward by term">
          <ShareArea shares={shares} marked={marked} />
        </Panel>
        <Panel title="Position in the completion">
          <TokenPlot places={places} />
        </Panel>
        <Panel title="Largest gradient norms">
          <SpikeList spikes={spikes} groups={groups} onOpen={openStep} />
        </Panel>
      </div>
      <Panel title="Rows without a learning signal">
        <RowTable rows={rows} onOpen={open} />
      </Panel>
    </>
  );
}

function largestNorms(metrics: MetricStore): readonly Spike[] {
  const norms = metrics.column("grad_norm");
  return gradientSpikes(
    Array.from(metrics.steps, (step, at) => [step, norms[at] as number] as const),
    SPIKES,
  );
}

function measureCharts(loop: LoopId): readonly ChartSpec[] {
  const series = (name: string, colour: number) => {
    const measure = GROUP_MEASURES.find((known) => known.name === name);
    if (measure === undefined) throw new RangeError(`There is no measure "${name}"`);
    return { metrics: [measureName(loop, measure)], label: measure.title, loop: null, colour, decimals: 3 as const };
  };
  const range = [0, 1] as const;
  return [
    { id: "best-of-g", title: "Best of G and mean", range, series: [series("group_mean", 0), series("group_best", 1)] },
    { id: "pass-at-g", title: "pass@G", range, series: [series("group_pass", 0)] },
    {
      id: "diversity",
      title: "Diversity of a group",
      range,
      series: [series("group_texts", 0), series("group_masks", 1)],
    },
  ];
}
