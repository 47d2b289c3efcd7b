/** The tab Rollouts: the groups of a step, all rollouts as a table, or the whole run. */
import { memo, type ReactNode, type RefObject, useId, useMemo, useState } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { unreadText } from "../../clients/run/run-reads.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import {
  FLAGS,
  filterCount,
  filterGroups,
  filterText,
  limitOf,
  NO_FILTER,
  parseFilter,
  parseLayers,
  passes,
  type RolloutFilter,
  type SortBy,
  shortRow,
  sortRollouts,
} from "../../components/rollout/rollout-view.ts";
import { Nothing } from "../../components/rollout/time-line.tsx";
import {
  groupKey,
  type Scan,
  type StepGroups,
  useAllGroups,
  useStepGroups,
  type ViewedRun,
} from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Switch, TextInput } from "../../components/ui/controls.tsx";
import { PanelButton } from "../../components/ui/panel/panel-button.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import { counted, fixed } from "../../styles/format.ts";
import { GroupCards } from "./live.tsx";
import styles from "./train.module.css";

/** The views of the tab; plug-ins have those of all steps. */
const viewsOf = () => ({
  step: "One step",
  ...(hasPanels("rollout-table") && { table: "Table" }),
  ...(hasPanels("whole-run") && { run: "Whole run" }),
});
const SORTS: Readonly<Record<SortBy, string>> = { reward: "Best first", index: "As sampled" };

/** Figures with this name zoom together. */
const SYNC = "rollouts";

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

/** The groups of the step that pass the filter, and the one that is shown. */
interface StepView {
  readonly found: StepGroups;
  readonly groups: readonly GroupRecord[];
  readonly group: GroupRecord | null;
  /** Of the group, in the order shown. */
  readonly rollouts: readonly RolloutRecord[];
  readonly sort: SortBy;
  readonly setSort: (sort: SortBy) => void;
}

/** @param step the step of the time line; null where nothing is shown of it */
export function useStepView(run: ViewedRun, step: number | null, search: Search): StepView {
  const { filter, filtered } = search;
  const key = useRoute((route) => route.group);
  const rollout = useRoute((route) => route.rollout);
  const [sort, setSort] = useState<SortBy>("reward");
  const found = useStepGroups(run, step);
  const groups = useMemo(
    () => (filtered ? filterGroups(found.groups, filter) : found.groups),
    [filtered, found.groups, filter],
  );
  const group =
    groups.find(({ rollouts }) => rollouts.some(({ id }) => id === rollout)) ??
    groups.find((one) => groupKey(one) === key) ??
    groups[0] ??
    null;
  const rollouts = useMemo(() => (group === null ? [] : sortRollouts(group.rollouts, sort)), [group, sort]);
  return useMemo(() => ({ found, groups, group, rollouts, sort, setSort }), [found, groups, group, rollouts, sort]);
}

interface TabProps {
  readonly run: ViewedRun;
  readonly search: Search;
  readonly view: StepView;
  /** Id of the rollout in the inspector. */
  readonly opened: string | null;
  /** The search field. */
  readonly field: RefObject<HTMLInputElement | null>;
}

/** Every rollout of a run, step by step. */
export const Rollouts = memo(function Rollouts(props: TabProps): ReactNode {
  const { run, search, view, opened, field } = props;
  const { filter, filtered, scan, matching, steps } = search;
  const shown = useRoute((route) => route.view);
  const whole = shown === "run" && hasPanels("whole-run");
  const table = shown === "table" && hasPanels("rollout-table");
  const listed = matching ?? (table ? scan.groups : view.groups);
  const reading = scan.done < scan.total;
  const unread = unreadText(scan);
  return (
    <>
      <div className="row wrap gap-2-3">
        <Segmented
          label="Rollouts of"
          options={viewsOf()}
          value={shown}
          onChange={(next) => navigate({ view: next })}
        />
        <span className="grow" />
        {!whole && (
          <>
            <FilterBar filter={filter} onChange={setFilter} search={field} />
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
          </>
        )}
      </div>
      {!whole && (filtered || table) && (
        <p className="row gap-3 muted" role="status">
          {counted(listed.length, "group")} in {counted(steps.length, "step")}
          {filtered && (listed.length === 1 ? " matches" : " match")}
          {reading && `, ${scan.done} of ${scan.total} steps read`}
        </p>
      )}
      {!whole && (filtered || table) && unread !== null && (
        <p className="bad" role="alert" data-testid="unread-steps">
          {unread}
        </p>
      )}
      {whole ? (
        <PluginPanels key={run.runId} at="whole-run" given={{ run, scan }} />
      ) : table ? (
        <>
          {listed.length > 0 ? (
            <PluginPanels at="rollout-table" given={{ groups: listed, filter, inspected: opened, ofStep: false }} />
          ) : (
            <Nothing run={run} loading={reading} problem={unread} filtered={filtered} />
          )}
          <PluginPanels
            at="rewards-of"
            given={{ title: "Rewards", groups: scan.groups, filter, onPick: pickRewards(filter) }}
          />
        </>
      ) : view.group === null ? (
        <Nothing
          run={run}
          loading={view.found.loading || (filtered && reading)}
          problem={view.found.problem}
          filtered={filtered}
        />
      ) : (
        <OneStep {...props} group={view.group} />
      )}
    </>
  );
});

/** A group of the step, and all completions of the step as a table. */
function OneStep(props: TabProps & { readonly group: GroupRecord }): ReactNode {
  const { search, view, opened, group } = props;
  const { filter } = search;
  const { groups, found, rollouts, sort, setSort } = view;
  const names = useRoute((route) => route.layers);
  const layers = useMemo(() => parseLayers(names), [names]);
  const faded = useMemo(() => new Set(rollouts.filter((rollout) => !passes(rollout, filter))), [rollouts, filter]);
  return (
    <>
      <GroupTabs
        groups={groups}
        selected={group}
        onSelect={(next) => {
          const best = opened === null ? null : (sortRollouts(next.rollouts, "reward")[0]?.id ?? null);
          navigate({ group: groupKey(next), rollout: best });
        }}
      />
      <GroupCards
        group={group}
        rollouts={rollouts}
        layers={layers}
        faded={faded}
        fileName={`step-${group.step}-loop-${group.loop}-group-${group.group}`}
        sync={SYNC}
        tools={
          <div className="row wrap gap-2-4 between mt-2">
            <OverlayControls />
            <Segmented label="Order" options={SORTS} value={sort} onChange={setSort} />
          </div>
        }
      />
      {hasPanels("rollout-table") && (
        <section className="grid gap-2" aria-label="Completions of this step">
          <h2>Completions of step {group.step}</h2>
          <PluginPanels at="rollout-table" given={{ groups: found.groups, filter, inspected: opened, ofStep: true }} />
        </section>
      )}
      <PluginPanels
        at="rewards-of"
        given={{ title: "Rewards of this step", groups: found.groups, filter, onPick: pickRewards(filter) }}
      />
    </>
  );
}

const pickRewards =
  (filter: RolloutFilter) =>
  (least: number, most: number): void =>
    navigate({ view: "table", filter: filterText({ ...filter, least, most }) });

function setFilter(filter: RolloutFilter): void {
  navigate({ filter: filterText(filter) });
}

/** Saves the rollouts of these groups that pass the filter as lines of JSON. */
function saveRollouts(groups: readonly GroupRecord[], filter: RolloutFilter, name: string): void {
  const lines = groups.flatMap(({ rollouts }) => rollouts.filter((one) => passes(one, filter)));
  saveBlob(new Blob(lines.map((one) => `${JSON.stringify(one)}\n`)), name);
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
            className="flex gap-6px align-baseline framed round-m surface nowrap pointer lit"
            aria-current={group === selected}
            data-loop={group.loop}
            onClick={() => onSelect(group)}
          >
            Loop {group.loop}
            <small className="muted" title={`Row ${group.rowId}`}>
              {shortRow(group.rowId, groups)}
            </small>
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

const LOOP_OPTIONS = [
  { value: "all", label: "All loops" },
  ...LOOP_IDS.map((id) => ({ value: String(id), label: `Loop ${id}` })),
];

/** Text search beside a panel of further filters. */
function FilterBar(props: {
  readonly filter: RolloutFilter;
  readonly onChange: (filter: RolloutFilter) => void;
  readonly search: RefObject<HTMLInputElement | null>;
}): ReactNode {
  const { filter, onChange, search } = props;
  const id = useId();
  const count = filterCount(filter) - Number(filter.text.trim() !== "");
  const limit = (of: "least" | "most", name: string): ReactNode => (
    <input
      type="number"
      aria-label={name}
      step={0.05}
      placeholder="any"
      value={filter[of] ?? ""}
      onChange={(event) => onChange({ ...filter, [of]: limitOf(event.currentTarget.value) })}
    />
  );
  return (
    <div className={`flex gap-2 ${styles.filters}`}>
      <TextInput
        ref={search}
        className={styles.search}
        type="search"
        placeholder="Search captions and rows"
        aria-label="Search captions and rows"
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.currentTarget.value })}
      />
      <PanelButton label={count === 0 ? "Filter…" : `Filter (${count})…`} title="Filter">
        <Segmented
          label="Loop"
          options={LOOP_OPTIONS}
          value={String(filter.loop ?? "all")}
          onChange={(value) => onChange({ ...filter, loop: LOOP_IDS.find((id) => String(id) === value) ?? null })}
        />
        <div className={`row gap-2 between ${styles.range}`}>
          <span>Reward from</span>
          {limit("least", "Lowest reward")}
          <span>to</span>
          {limit("most", "Highest reward")}
        </div>
        {(Object.entries(FLAGS) as [keyof typeof FLAGS, string][]).map(([key, label]) => (
          <div key={key} className="row gap-2 between">
            <label htmlFor={`${id}${key}`}>{label}</label>
            <Switch
              id={`${id}${key}`}
              checked={filter[key]}
              onChange={(checked) => onChange({ ...filter, [key]: checked })}
            />
          </div>
        ))}
        <Button kind="quiet" onClick={() => onChange(NO_FILTER)}>
          Clear filters
        </Button>
      </PanelButton>
    </div>
  );
}
