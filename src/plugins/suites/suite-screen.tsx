import { type ReactNode, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Segmented, Select, TextInput } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { pick } from "../../app/components/upload/pickers.tsx";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { useSession } from "../../app/stores/session.ts";
import { useTry } from "../../app/stores/try-out.ts";
import { formatCount } from "../../app/styles/format.ts";
import { PICTURE_SUITES, suiteOf } from "./all.ts";
import { EarlierEvaluations } from "./earlier-evaluations.tsx";
import { SuiteResult } from "./suite-result.tsx";
import { SuiteRows } from "./suite-rows.tsx";
import { chooseSuite, suiteBlocker, useSuite } from "./suite-store.ts";
import { mayShow, runSuite, stopSuite } from "./suite-work.ts";
import styles from "./suites.module.css";

const MODES = { free: "Free answer", forced: "Forced [SEG]" } as const;
const PARTS = { all: "All", selection: "Selection part (30 %)", report: "Report part (70 %)" } as const;
const SENT = { captions: "Captions", pictures: "Captions and pictures" } as const;

const PHASES = {
  opening: "Reading the rows",
  answering: "Answering",
  judging: "Judging",
  scoring: "Scoring",
} as const;

/** Evaluation suites of the field on the open files: base model, and the open adapter beside it. */
export default function SuiteScreen(): ReactNode {
  const missing = useBlocker();
  return (
    <>
      <Choice />
      <SuiteResult />
      <SuiteRows />
      <EarlierEvaluations missing={missing} />
    </>
  );
}

function Choice(): ReactNode {
  const { suite: name, split, part, mode, rows, judgePictures, phase } = useSuite((state) => state);
  const data = useSession((session) => session.dataInfo?.name ?? null);
  const model = useSession((session) => session.model?.name ?? null);
  const adapter = useTry((state) => state.adapter?.name ?? null);
  const suite = suiteOf(name);
  const shows = useSession(({ config }) => suite !== undefined && mayShow(suite, config));
  const busy = phase !== "idle";
  const changing = suiteBlocker({ phase });
  const blocker = useBlocker();
  return (
    <Panel title="Suite" aside={<Progress />}>
      <p className="muted mb-3">{suite?.what}</p>
      <fieldset
        className={`grid m-0 gap-3 p-0 borderless ${styles.form}`}
        aria-label="Evaluation choices"
        disabled={busy}
        title={changing ?? undefined}
      >
        <div className="grid gap-1">
          <span className="small muted">Suite</span>
          <Select
            label="Suite"
            value={name}
            testId="suite-name"
            options={PICTURE_SUITES.map((one) => ({ value: one.name, label: one.name }))}
            onChange={(chosen) => chooseSuite({ suite: chosen, split: suiteOf(chosen)?.split ?? "" })}
          />
        </div>
        {suite?.split !== undefined && (
          <div className="grid gap-1">
            <span className="small muted">Split</span>
            <TextInput
              aria-label="Split"
              value={split}
              onChange={(event) => chooseSuite({ split: event.currentTarget.value.trim() })}
            />
          </div>
        )}
        <div className="grid gap-1">
          <span className="small muted">Pictures</span>
          <Select
            label="Pictures"
            value={part}
            testId="suite-part"
            options={PARTS}
            onChange={(chosen) => chooseSuite({ part: chosen })}
          />
        </div>
        <RowCount key={rows} value={rows} />
        <div className="grid gap-1">
          <span className="small muted">Masks from</span>
          <Segmented
            label="Masks from"
            options={MODES}
            value={mode}
            onChange={(chosen) => chooseSuite({ mode: chosen })}
          />
        </div>
        {shows && (
          <div className="grid gap-1">
            <span className="small muted">Sent to the judge</span>
            <Segmented
              label="Sent to the judge"
              options={SENT}
              value={judgePictures ? "pictures" : "captions"}
              onChange={(chosen) => chooseSuite({ judgePictures: chosen === "pictures" })}
            />
          </div>
        )}
      </fieldset>
      <dl className={`grid small mt-3 align-baseline anywhere ${styles.facts}`}>
        <dt className="muted">Data</dt>
        <dd>
          {data ?? "none open"}{" "}
          <Button kind="quiet" blocker={changing} onClick={() => pick("shards")}>
            Open folder…
          </Button>
        </dd>
        <dt className="muted">Model</dt>
        <dd>{model ?? "none loaded"}</dd>
        <dt className="muted">Adapter</dt>
        <dd>
          {adapter ?? "none; only the base model is scored"}{" "}
          <Button kind="quiet" blocker={changing} onClick={() => pick("adapter")}>
            Open adapter…
          </Button>
        </dd>
        <dt className="muted">Rule</dt>
        <dd>{suite?.rule}</dd>
      </dl>
      <div className="row wrap gap-2 mt-3">
        {busy ? (
          <Button kind="danger" data-testid="suite-stop" onClick={stopSuite}>
            Stop
          </Button>
        ) : (
          <Button kind="primary" data-testid="suite-start" blocker={blocker} onClick={() => report(runSuite())}>
            Evaluate
          </Button>
        )}
        <span className="small muted">Answers are kept, so a stopped evaluation continues where it stopped</span>
      </div>
    </Panel>
  );
}

/** Number of rows; 0 for all. The value applies when the field loses the focus. */
function RowCount(props: { readonly value: number }): ReactNode {
  const [text, setText] = useState(String(props.value));
  const take = (): void => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 0) chooseSuite({ rows: value });
    else setText(String(props.value));
  };
  return (
    <div className="grid gap-1">
      <span className="small muted">Rows (0 for all)</span>
      <TextInput
        aria-label="Rows"
        inputMode="numeric"
        value={text}
        data-testid="suite-rows"
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={take}
      />
    </div>
  );
}

function Progress(): ReactNode {
  const { phase, done, items, kept } = useSuite((state) => state);
  if (phase === "idle") return null;
  return (
    <span className="row gap-2 small muted" role="status" data-testid="suite-progress">
      <progress max={Math.max(1, items.length)} value={done} aria-label="Rows answered" />
      {PHASES[phase]}
      {phase === "answering" && `, ${formatCount(done)} of ${formatCount(items.length)} rows`}
      {kept > 0 && `, ${formatCount(kept)} answers kept`}
    </span>
  );
}

function useBlocker(): string | null {
  const data = useSession((session) => session.dataInfo);
  const model = useSession((session) => session.model);
  const running = useRun((run) => isActive(run.state));
  if (running) return "A run is in progress. Stop it before you evaluate";
  if (data === null) return "Open the files of the suite first";
  return model === null ? "Load a model first" : null;
}
