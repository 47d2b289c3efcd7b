import { type ReactNode, useEffect, useMemo, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { startBlocker } from "../../app/clients/run/blockers.ts";
import { Button, FileButton } from "../../app/components/ui/button.tsx";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { useSession } from "../../app/stores/session.ts";
import { counted, formatCount } from "../../app/styles/format.ts";
import { LOOP_IDS, LOOPS, type LoopId } from "../../engine/rl/loops/abouts.ts";
import styles from "./bench.module.css";
import { bench as benchWork } from "./bench.ts";
import { BenchFindings } from "./bench-findings.tsx";
import type { BenchGroup } from "./bench-group.ts";
import { isOutdated, useBench } from "./bench-store.ts";

/** Default number of rows: quick on any adapter. */
const FIRST_ROWS = 16;

/** Rewards over a whole shard without training: sampled with the loaded model, or read from a file. */
export default function BenchPanel(): ReactNode {
  const bench = useBench((state) => state);
  const config = useSession((session) => session.config);
  useRescoring();
  return (
    <Panel
      title="Reward bench"
      aside={
        bench.groups.length > 0 && (
          <span className="muted small" data-testid="bench-source">
            {bench.source} · {counted(bench.groups.length, "group")}
          </span>
        )
      }
    >
      <Controls />
      <Progress />
      {bench.problem !== null && (
        <p className="mb-3 p-2-3 bad bad-soft round-m" role="alert" data-testid="bench-problem">
          {bench.problem}
        </p>
      )}
      {bench.groups.length === 0 ? (
        <p className="muted small">
          Samples {config.numGenerations} captions and masks per row with the loaded model and shows how each term
          scores them, before any training. You can also open rollouts from a JSONL file of another program, or the
          Arrow files of a run.
        </p>
      ) : (
        <Findings groups={bench.groups} />
      )}
    </Panel>
  );
}

/** Scores the rollouts again after a change of the reward's settings, also one made on another screen. */
function useRescoring(): void {
  const config = useSession((session) => session.config);
  const outdated = useBench((bench) => isOutdated(bench, config));
  useEffect(() => {
    if (!outdated) return;
    const timer = window.setTimeout(() => report(benchWork.rescore(config)), 250);
    return () => window.clearTimeout(timer);
  }, [config, outdated]);
}

function Controls(): ReactNode {
  const rows = useSession((session) => session.rows);
  const model = useSession((session) => session.model);
  const judgeSet = useSession((session) => session.config.judge !== "off");
  const numGenerations = useSession((session) => session.config.numGenerations);
  const state = useBench((bench) => bench.state);
  const running = useRun((run) => isActive(run.state));
  const judged = useBench((bench) => bench.groups.length > 0 && bench.state === "idle") && judgeSet;
  const [loops, setLoops] = useState("both");
  const [count, setCount] = useState(FIRST_ROWS);
  const wanted = Math.min(rows.length, Math.max(1, count));
  const blocker = running
    ? "A run is in progress. Stop it first"
    : model === null || rows.length === 0
      ? (startBlocker() ?? "No rows are loaded")
      : null;
  const sample = (): void => {
    // Evenly spaced, so that a few rows represent the shard.
    const indices = Array.from(
      { length: wanted },
      (_, at) => rows[Math.floor((at * rows.length) / wanted)]?.index ?? 0,
    );
    const chosen = LOOP_IDS.filter((id) => String(id) === loops);
    report(benchWork.sample(indices, chosen.length > 0 ? chosen : [1, 2]));
  };
  return (
    <div className="row wrap gap-2-3 mb-3">
      <Segmented
        label="Loops"
        options={[
          { value: "both", label: "Both loops" },
          ...LOOP_IDS.map((id) => ({ value: String(id), label: `Loop ${id}` })),
        ]}
        value={loops}
        onChange={setLoops}
      />
      <label className={`inline-flex gap-2 align-centre ${styles.count}`}>
        Rows
        <input
          className="text-right surface framed-control round-m"
          inputMode="numeric"
          data-testid="bench-rows"
          value={count === 0 ? "" : String(count)}
          onChange={(event) => setCount(Number(event.currentTarget.value.replace(/\D/g, "").slice(0, 7)))}
          onBlur={() => setCount(wanted)}
        />
        of {formatCount(rows.length)}
      </label>
      <Button onClick={() => setCount(rows.length)}>Whole shard</Button>
      <span className="muted small">G = {numGenerations}</span>
      <span className="grow" />
      <span className="row wrap gap-2">
        {judged && (
          <Button
            blocker={running ? "A run is in progress. Stop it first" : null}
            onClick={() => report(benchWork.judge())}
          >
            Score with the judge
          </Button>
        )}
        <FileButton
          label="Rollouts file"
          accept=".jsonl,.arrow,.json,.txt"
          testId="bench-file"
          onFile={(file) => report(benchWork.take(file))}
        >
          Open rollouts…
        </FileButton>
        {state === "sampling" ? (
          <Button kind="danger" data-testid="bench-stop" onClick={benchWork.stop}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" data-testid="bench-start" blocker={blocker} onClick={sample}>
            Sample {wanted} {wanted === 1 ? "row" : "rows"}
          </Button>
        )}
      </span>
    </div>
  );
}

function Progress(): ReactNode {
  const { state, done, total } = useBench((bench) => bench);
  if (state === "idle") return null;
  const what = state === "sampling" ? "Sampling" : "Scoring";
  return (
    <div className={`row gap-3 muted mb-3 ${styles.progress}`} role="status" data-testid="bench-progress">
      <progress value={total === 0 ? undefined : done} max={Math.max(1, total)} aria-label={what} />
      <span>{total === 0 ? "Reading the file" : `${what} ${done} of ${total} groups`}</span>
      {state !== "sampling" && (
        <Button kind="danger" data-testid="bench-stop" onClick={benchWork.stop}>
          Stop
        </Button>
      )}
    </div>
  );
}

function Findings(props: { readonly groups: readonly BenchGroup[] }): ReactNode {
  const { groups } = props;
  const [asked, setLoop] = useState<LoopId>(1);
  const opened = useBench((bench) => bench.opened);
  const present = LOOPS.filter(({ id }) => groups.some((group) => group.loop === id));
  const loop = present.some(({ id }) => id === asked) ? asked : (present[0]?.id ?? 1);
  const own = useMemo(() => groups.filter((group) => group.loop === loop), [groups, loop]);
  return (
    <>
      {present.length > 1 && (
        <Segmented
          label="Loop shown"
          options={present.map(({ id, task }) => ({ value: String(id), label: `Loop ${id}: ${task}` }))}
          value={String(loop)}
          onChange={(value) => setLoop(Number(value) as LoopId)}
        />
      )}
      <BenchFindings key={`${opened} ${loop}`} groups={own} />
    </>
  );
}
