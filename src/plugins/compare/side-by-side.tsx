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
import styles from "./compare.module.css";
import {
  type DrawnRun,
  drawOrder,
  findDraw,
  findShared,
  sameRolloutsText,
  searchOrder,
  type Towards,
} from "./shared-rows.ts";

const LAYERS = new Set(["given", "answer"] as const);

type NamedRun = DrawnRun & { readonly title: string };

interface Asked {
  /** Step that the search starts from; null for the newest. */
  readonly around: number | null;
  readonly towards: Towards;
}

const STORED = {
  steps: async (id: string) => (await readOnce(readRun(id))).groupSteps,
  groups: (id: string, step: number) => readOnce(readGroups(id, step)),
};

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
    findShared(first, others.length === 0 ? [first] : others, STORED, signal),
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
            <OtherSide key={`${step} ${groupKey(group)}`} run={first} first={first} like={group} />
          ) : (
            others.map((run) => (
              <OtherSide key={`${run.id} ${step} ${groupKey(group)}`} run={run} first={first} like={group} />
            ))
          ))}
      </div>
    </Panel>
  );
}

/** Another group of the same row. */
function OtherSide(props: {
  readonly run: NamedRun;
  /** The run of `like`; the same run is searched at other steps. */
  readonly first: NamedRun;
  readonly like: GroupRecord;
}): ReactNode {
  const { run, first, like } = props;
  const otherStep = run.id === first.id;
  const [asked, setAsked] = useState<Asked>({ around: like.step, towards: "nearest" });
  const steps = useRead(readRun(run.id));
  const ordered = searchOrder(steps.value?.groupSteps ?? [], asked.around ?? like.step, asked.towards);
  const order =
    asked.towards === "nearest"
      ? drawOrder(ordered, run, first, like.step)
      : ordered.filter((step) => !otherStep || step !== like.step);
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
      note={group?.step === like.step ? sameRolloutsText(run, first, like.step) : ""}
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
  /** A remark on the group; "" for none. */
  readonly note?: string;
  /** Moves to another step; null while there is none. */
  readonly onStep: ((towards: "earlier" | "later") => void) | null;
  /** Placeholder for a group. */
  readonly children?: ReactNode;
}): ReactNode {
  const { run, group, problem, note = "", onStep } = props;
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
          {note !== "" && (
            <p className="warn m-0" data-testid="same-rollouts">
              {note}
            </p>
          )}
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
