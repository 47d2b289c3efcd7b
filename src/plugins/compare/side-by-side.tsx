import { type ReactNode, useState } from "react";
import { readGroups, readRun } from "../../app/clients/run/run-reads.ts";
import { advantageScale, GroupTitle } from "../../app/components/rollout/group-title.tsx";
import { RolloutCard } from "../../app/components/rollout/rollout-card.tsx";
import { sortRollouts } from "../../app/components/rollout/rollout-view.ts";
import { groupKey } from "../../app/components/rollout/use-viewed-run.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Select } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { readOnce, useRead } from "../../app/stores/reads.ts";
import { navigate } from "../../app/stores/route.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import type { NamedRun } from "./chart-specs.ts";
import styles from "./compare.module.css";

const LAYERS = new Set(["given", "answer"] as const);

interface Asked {
  /** Step that the search starts from; null for the newest. */
  readonly around: number | null;
  readonly towards: Towards;
}

const NEAREST: Asked = { around: null, towards: "nearest" };

/** The same row's rollouts of compared runs, or of two steps of one. @param runs one or more */
export function SideBySide({ runs }: { readonly runs: readonly NamedRun[] }): ReactNode {
  const [first, ...others] = runs as readonly [NamedRun, ...NamedRun[]];
  const [asked, setAsked] = useState(NEAREST);
  const [picked, setChosen] = useState<string | null>(null);
  const { value: own, problem } = useRead(readRun(first.id));
  const steps = own?.groupSteps;
  // Opens on a row that all of them sampled, or that one run sampled twice, if there is one.
  const shared = useAsync(runs.map(({ id }) => id).join(), (_, signal) =>
    findShared(first, others.length === 0 ? [first] : others, signal),
  );
  const start = asked.around === null ? (shared.value ?? null) : null;
  const chosen = picked ?? (start === null ? null : groupKey(start));
  const around = asked.around ?? start?.step ?? (shared.loading ? null : (steps?.at(-1) ?? null));
  const step = around === null ? null : (searchOrder(steps ?? [], around, asked.towards)[0] ?? around);
  const groups = useRead(step === null ? null : readGroups(first.id, step));
  const group = groups.value?.find((own) => groupKey(own) === chosen) ?? groups.value?.[0];
  if (steps?.length === 0) return null;
  return (
    <Panel
      title="Rollouts side by side"
      aside={
        groups.value !== undefined &&
        group !== undefined && (
          <Select
            label="Row"
            options={groups.value.map((own) => ({
              value: groupKey(own),
              label: `Loop ${own.loop}, row ${own.rowId}`,
            }))}
            value={groupKey(group)}
            onChange={setChosen}
          />
        )
      }
    >
      <div className={`grid gap-3 align-start ${styles.sides}`} data-testid="side-by-side">
        <Side
          run={first}
          group={group ?? null}
          problem={problem ?? groups.problem}
          onStep={step === null ? null : (towards) => setAsked({ around: step, towards })}
        />
        {group !== undefined &&
          (others.length === 0 ? (
            <OtherSide key={`${step} ${groupKey(group)}`} run={first} like={group} otherStep />
          ) : (
            others.map((run) => <OtherSide key={`${run.id} ${step} ${groupKey(group)}`} run={run} like={group} />)
          ))}
      </div>
    </Panel>
  );
}

/** Another group of the same row. */
function OtherSide(props: {
  readonly run: NamedRun;
  readonly like: GroupRecord;
  /** Whether it is of the same run, at another step. */
  readonly otherStep?: boolean;
}): ReactNode {
  const { run, like, otherStep = false } = props;
  const [asked, setAsked] = useState<Asked>({ around: like.step, towards: "nearest" });
  const steps = useRead(readRun(run.id));
  const order = searchOrder(steps.value?.groupSteps ?? [], asked.around ?? like.step, asked.towards).filter(
    (step) => !otherStep || step !== like.step,
  );
  const key = `${run.id} ${asked.around} ${asked.towards}`;
  const found = useAsync(steps.value === undefined ? null : key, (_, signal) =>
    findDraw(order, like, (step) => readOnce(readGroups(run.id, step)), signal),
  );
  const { value: group = null } = found;
  return (
    <Side
      run={run}
      group={group}
      problem={steps.problem ?? found.problem}
      onStep={(towards) => setAsked({ around: group?.step ?? asked.around, towards })}
    >
      {found.loading
        ? "Searching for the row"
        : `No ${asked.towards === "nearest" ? (otherStep ? "other " : "") : `${asked.towards} `}step of this run sampled the row`}
    </Side>
  );
}

function Side(props: {
  readonly run: NamedRun;
  readonly group: GroupRecord | null;
  readonly problem: string | null;
  /** Moves to another step; null while there is none. */
  readonly onStep: ((towards: "earlier" | "later") => void) | null;
  /** Placeholder for a group. */
  readonly children?: ReactNode;
}): ReactNode {
  const { run, group, problem, onStep } = props;
  return (
    <section className="column-flex gap-2 min-0" aria-label={run.title}>
      <header className="row gap-2 between">
        <h3 className="m-0 clip ellipsis nowrap" title={run.title}>
          {run.title}
        </h3>
        <span className="row gap-1 nowrap">
          <Button kind="quiet" onClick={() => onStep?.("earlier")} disabled={onStep === null}>
            Earlier
          </Button>
          <Button kind="quiet" onClick={() => onStep?.("later")} disabled={onStep === null}>
            Later
          </Button>
        </span>
      </header>
      {problem !== null && <p className="bad">{problem}</p>}
      {group === null ? (
        <p className="muted">{props.children ?? "Reading"}</p>
      ) : (
        <>
          <GroupTitle group={group} withStep />
          <div className={`grid gap-2 ${styles.tiles}`}>
            {sortRollouts(group.rollouts, "reward").map((rollout) => (
              <RolloutCard
                key={rollout.id}
                rollout={rollout}
                layers={LAYERS}
                scale={advantageScale(group)}
                onOpen={() =>
                  navigate({
                    screen: "train",
                    tab: "rollouts",
                    run: run.id,
                    step: group.step,
                    group: null,
                    rollout: rollout.id,
                  })
                }
              />
            ))}
          </div>
        </>
      )}
    </section>
  );
}

const stepsOf = async (runId: string): Promise<readonly number[]> => (await readOnce(readRun(runId))).groupSteps;

/** Steps of each run that are searched for a shared row. */
const SEARCHED = 16;

/**
 * The newest group of a run whose row all others sampled too, at the same step or near it; null if none is found.
 * @param others the run itself for a row that it sampled at another step, too
 */
async function findShared(
  first: NamedRun,
  others: readonly NamedRun[],
  signal: AbortSignal,
): Promise<GroupRecord | null> {
  const theirs = await Promise.all(others.map(async ({ id }) => ({ id, steps: await stepsOf(id) })));
  const own = await stepsOf(first.id);
  // Runs of one seed draw equal rows at equal steps, so steps that all have come first.
  const common = own.filter((step) => theirs.every(({ steps }) => steps.includes(step)));
  for (const step of [...new Set([...common.reverse(), ...[...own].reverse()])].slice(0, SEARCHED)) {
    for (const group of await readOnce(readGroups(first.id, step))) {
      const found = await Promise.all(
        theirs.map(({ id, steps }) =>
          findDraw(
            searchOrder(steps, step, "nearest")
              .filter((at) => id !== first.id || at !== step)
              .slice(0, SEARCHED),
            group,
            (at) => readOnce(readGroups(id, at)),
            signal,
          ),
        ),
      );
      if (found.every((one) => one !== null)) return group;
      if (signal.aborted) return null;
    }
  }
  return null;
}

/** Direction of the search from a step. */
type Towards = "nearest" | "earlier" | "later";

/** Steps in the order of the search: nearest first, from all or from one side; `around` itself only for the nearest. */
export function searchOrder(steps: readonly number[], around: number, towards: Towards): number[] {
  const side = {
    nearest: () => true,
    earlier: (step: number) => step < around,
    later: (step: number) => step > around,
  };
  return steps.filter(side[towards]).sort((a, b) => Math.abs(a - around) - Math.abs(b - around) || a - b);
}

/**
 * The first group of the same loop and row in the order of the search; null where no step has it.
 * @throws LabError naming a step that cannot be read
 */
export async function findDraw(
  order: readonly number[],
  { loop, rowId }: Pick<GroupRecord, "loop" | "rowId">,
  read: (step: number) => Promise<readonly GroupRecord[]>,
  signal: AbortSignal,
): Promise<GroupRecord | null> {
  for (const step of order) {
    const found = (await read(step)).find((group) => group.loop === loop && group.rowId === rowId);
    if (found !== undefined) return found;
    if (signal.aborted) return null;
  }
  return null;
}
