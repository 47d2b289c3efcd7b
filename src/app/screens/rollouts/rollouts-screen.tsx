import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import type { ReplayReport } from "../../../engine/session/replay.ts";
import { replayStep } from "../../clients/run/start-run.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { filterText, parseFilter } from "../../components/rollout/filter-text.ts";
import { unreadText } from "../../components/rollout/group-source.ts";
import { Inspector } from "../../components/rollout/inspector.tsx";
import { AdvantageFormula } from "../../components/rollout/reward/advantage-formula.tsx";
import { WhatIfPanel } from "../../components/rollout/reward/what-if-panel.tsx";
import {
  filterCount,
  filterGroups,
  type LayerKey,
  parseLayers,
  passes,
  type RolloutFilter,
  type SortBy,
  sortRollouts,
} from "../../components/rollout/rollout-view.ts";
import {
  groupKey,
  type Scan,
  useAllGroups,
  useStepGroups,
  type ViewedRun,
} from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented } from "../../components/ui/controls.tsx";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { counted, fixed } from "../../styles/format.ts";
import { CloserLook } from "./closer-look.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { GroupView } from "./group-view.tsx";
import { Nothing } from "./nothing.tsx";
import { Repeated } from "./repeated.tsx";
import { RolloutTable } from "./rollout-table.tsx";
import styles from "./rollouts.module.css";
import { RowHistory } from "./row-history.tsx";
import { StepList } from "./step-list.tsx";
import { RewardHistogram } from "./step-rewards.tsx";
import { useRolloutKeys } from "./use-rollout-keys.ts";

/** Milliseconds per layer: fewer than two changes a second, safe for photosensitive users. */
const BLINK_MS = 650;

/** Alternates between given mask and answer while on, else null. */
function useBlink(on: boolean): ReadonlySet<LayerKey> | null {
  const [shown, setShown] = useState<LayerKey>("given");
  useEffect(() => {
    if (!on) return;
    const timer = window.setInterval(() => setShown((now) => (now === "given" ? "answer" : "given")), BLINK_MS);
    return () => window.clearInterval(timer);
  }, [on]);
  return useMemo(() => (on ? new Set([shown]) : null), [on, shown]);
}

const SYNC = "rollouts";

const VIEWS = { step: "One step", table: "Table", ...(hasPanels("whole-run") ? { run: "Whole run" } : {}) };

/** The filter of the address and what it matches. */
export interface Search {
  readonly filter: RolloutFilter;
  readonly filtered: boolean;
  readonly scan: Scan;
  /** Groups with a rollout that passes the filter; null without a filter. */
  readonly matching: readonly GroupRecord[] | null;
  /** Steps with rollouts that pass the filter, ascending. */
  readonly steps: readonly number[];
}

/** Reads what the filter and the view need of all steps. @param wanted whether the tab Rollouts is shown */
export function useSearch(run: ViewedRun, wanted: boolean): Search {
  const view = useRoute((route) => route.view);
  const written = useRoute((route) => route.filter);
  const filter = useMemo(() => parseFilter(written), [written]);
  const filtered = filterCount(filter) > 0;
  const scan = useAllGroups(run, wanted && (view !== "step" || filtered));
  return useMemo(() => {
    const matching = filtered ? filterGroups(scan.groups, filter) : null;
    const steps =
      matching === null ? run.steps : [...new Set(matching.map((group) => group.step))].sort((a, b) => a - b);
    return { filter, filtered, scan, matching, steps };
  }, [filter, filtered, scan, run.steps]);
}

/** Every rollout of a run, step by step. @param props.step the step of the time line; null without any */
export function Rollouts(props: {
  readonly run: ViewedRun;
  readonly step: number | null;
  readonly search: Search;
}): ReactNode {
  const view = useRoute((route) => route.view);
  if (view !== "run" || !hasPanels("whole-run")) return <Viewer {...props} />;
  return (
    <>
      <div>
        <ViewSwitch />
      </div>
      <PluginPanels key={props.run.runId} at="whole-run" given={{ run: props.run, scan: props.search.scan }} />
    </>
  );
}

function ViewSwitch(): ReactNode {
  const view = useRoute((route) => route.view);
  return <Segmented label="Rollouts of" options={VIEWS} value={view} onChange={(value) => navigate({ view: value })} />;
}

function Viewer(props: { readonly run: ViewedRun; readonly step: number | null; readonly search: Search }): ReactNode {
  const { run, step } = props;
  const { filter, filtered, scan, matching, steps } = props.search;
  const askedGroup = useRoute((route) => route.group);
  const askedRollout = useRoute((route) => route.rollout);
  const layerNames = useRoute((route) => route.layers);
  const table = useRoute((route) => route.view === "table");
  const [sort, setSort] = useState<SortBy>("reward");
  const search = useRef<HTMLInputElement>(null);
  const inspector = useRef<HTMLDivElement>(null);
  const unread = unreadText(scan);
  const reading = scan.done < scan.total;
  const found = useStepGroups(run, step);
  const groups = useMemo(
    () => (filtered ? filterGroups(found.groups, filter) : found.groups),
    [filtered, found.groups, filter],
  );
  const listed = matching ?? (table ? scan.groups : groups);
  const group = pickGroup(groups, askedGroup, askedRollout);
  // Advantages depend on all groups of the loop in the step, whatever the filters show.
  const loopGroups = useMemo(
    () => found.groups.filter(({ loop }) => loop === group?.loop),
    [found.groups, group?.loop],
  );
  const whole = loopGroups.find((one) => one.group === group?.group) ?? null;
  const config = whole === null ? null : (run.manifest?.config ?? null);
  const rollouts = useMemo(() => (group === null ? [] : sortRollouts(group.rollouts, sort)), [group, sort]);
  const selected = rollouts.find(({ id }) => id === askedRollout) ?? rollouts[0] ?? null;

  const chosen = useMemo(() => parseLayers(layerNames), [layerNames]);
  const [blinking, setBlinking] = useState(false);
  const blink = useBlink(blinking);
  const layers = blink ?? chosen;
  const toggle = (layer: LayerKey): void => {
    const next = new Set(chosen);
    if (!next.delete(layer)) next.add(layer);
    navigate({ layers: [...next] });
  };
  const pickRewards = (least: number, most: number): void => {
    navigate({ view: "table", filter: filterText({ ...filter, least, most }) });
  };
  const toStep = (to: number): void => navigate({ step: to, rollout: null });
  const open = (rollout: RolloutRecord): void => navigate({ step, rollout: rollout.id });

  useRolloutKeys({
    table,
    rollout: (by) => {
      const at = selected === null ? 0 : rollouts.indexOf(selected);
      const last = rollouts.length - 1;
      const next = rollouts[by === "first" ? 0 : by === "last" ? last : Math.min(last, Math.max(0, at + by))];
      if (next !== undefined) open(next);
    },
    step: (by) => {
      const at = step === null ? -1 : steps.indexOf(step);
      const next = steps[Math.min(steps.length - 1, Math.max(0, at + by))];
      if (next !== undefined) toStep(next);
    },
    toggle,
    blink: () => setBlinking(!blinking),
    find: () => search.current?.focus(),
    back: () => navigate({ tab: "curves" }),
    open: () => inspector.current?.scrollIntoView({ block: "nearest" }),
  });

  return (
    <>
      <div className="row wrap gap-2-3">
        <ViewSwitch />
        <span className="grow" />
        <FilterBar filter={filter} onChange={setFilter} search={search} />
        <Button
          title={
            filtered || table
              ? "Saves the listed rollouts, one per line"
              : "Saves the rollouts of this step, one per line"
          }
          disabled={listed.length === 0}
          onClick={() => saveRollouts(listed, filter, `${run.runId}-rollouts.jsonl`)}
        >
          Save JSONL
        </Button>
      </div>
      {(filtered || table) && (
        <p className="row gap-3 muted" role="status">
          {counted(listed.length, "group")} in {counted(steps.length, "step")}
          {filtered && (listed.length === 1 ? " matches" : " match")}
          {reading && `, ${scan.done} of ${scan.total} steps read`}
        </p>
      )}
      {(filtered || table) && unread !== null && (
        <p className="bad" role="alert" data-testid="unread-steps">
          {unread}
        </p>
      )}
      {table ? (
        <>
          <RewardHistogram title="Rewards" groups={scan.groups} filter={filter} onPick={pickRewards} />
          {listed.length > 0 ? (
            <RolloutTable groups={listed} filter={filter} />
          ) : (
            <Nothing run={run} loading={reading} problem={unread} filtered={filtered} />
          )}
        </>
      ) : (
        <div className={`grid gap-4 align-start ${styles.layout}`}>
          <StepList steps={steps} selected={step} metrics={run.metrics} onSelect={toStep} />
          <div className="grid gap-3 min-0">
            {groups.length > 0 && (
              <GroupTabs
                groups={groups}
                selected={group}
                onSelect={(next) => navigate({ step, group: groupKey(next), rollout: null })}
              />
            )}
            {group === null || selected === null ? (
              <Nothing
                run={run}
                loading={found.loading || (filtered && reading)}
                problem={found.problem}
                filtered={filtered}
              />
            ) : (
              <>
                <GroupView
                  group={group}
                  rollouts={rollouts}
                  selected={selected}
                  filter={filter}
                  layers={layers}
                  sort={sort}
                  onSort={setSort}
                  sync={SYNC}
                  onOpen={open}
                >
                  <div ref={inspector} className="min-0">
                    <Inspector
                      rollout={selected}
                      layers={layers}
                      onToggle={toggle}
                      sync={SYNC}
                      advantage={
                        config !== null && <AdvantageFormula rollout={selected} groups={loopGroups} config={config} />
                      }
                      more={[
                        ...(config === null || whole === null
                          ? []
                          : [
                              {
                                id: "what-if",
                                label: "What if",
                                content: (
                                  <WhatIfPanel
                                    key={groupKey(whole)}
                                    group={whole}
                                    groups={loopGroups}
                                    config={config}
                                  />
                                ),
                              },
                            ]),
                        {
                          id: "recompute",
                          label: "Recompute",
                          content: (
                            <div className="grid gap-4">
                              <CloserLook key={selected.id} run={run} rollout={selected} />
                              <ReplayStep key={group.step} run={run} step={group.step} />
                            </div>
                          ),
                        },
                        { id: "history", label: "History", content: <RowHistory run={run} group={group} /> },
                      ]}
                    />
                  </div>
                </GroupView>
                <RewardHistogram
                  title="Rewards of this step"
                  groups={found.groups}
                  filter={filter}
                  onPick={pickRewards}
                />
              </>
            )}
          </div>
        </div>
      )}
    </>
  );
}

function setFilter(filter: RolloutFilter): void {
  navigate({ filter: filterText(filter) });
}

/** Saves the rollouts of these groups that pass the filter as lines of JSON. */
function saveRollouts(groups: readonly GroupRecord[], filter: RolloutFilter, name: string): void {
  const lines = groups.flatMap(({ rollouts }) => rollouts.filter((one) => passes(one, filter)));
  saveBlob(new Blob(lines.map((one) => `${JSON.stringify(one)}\n`)), name);
}

/** The selected group, else the group of the selected rollout, else the first. */
function pickGroup(groups: readonly GroupRecord[], key: string | null, rollout: string | null): GroupRecord | null {
  return (
    groups.find((group) => group.rollouts.some(({ id }) => id === rollout)) ??
    groups.find((group) => groupKey(group) === key) ??
    groups[0] ??
    null
  );
}

/** The groups of a step, each with its loop and mean reward. */
function GroupTabs(props: {
  readonly groups: readonly GroupRecord[];
  readonly selected: GroupRecord | null;
  readonly onSelect: (group: GroupRecord) => void;
}): ReactNode {
  const { groups, selected, onSelect } = props;
  return (
    <ul className={`flex gap-2 m-0 scroll-x no-bullets ${styles.groups}`} aria-label="Groups of this step">
      {groups.map((group) => (
        <li key={groupKey(group)}>
          <button
            type="button"
            className="flex align-baseline framed round-m surface nowrap pointer lit"
            aria-current={group === selected}
            data-loop={group.loop}
            onClick={() => onSelect(group)}
          >
            Loop {group.loop}
            <small className="muted">row {group.rowId.split("#").pop()}</small>
            <b>{fixed(group.rewardMean, 2)}</b>
            {group.zeroSpread && (
              <small className="warn" title="All rewards are equal, so this group gives no learning signal">
                no spread
              </small>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
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
