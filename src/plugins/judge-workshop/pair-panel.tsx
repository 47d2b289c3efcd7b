import { type KeyboardEvent, type ReactNode, useId } from "react";
import { report } from "../../app/clients/lab.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { stopJob, useJob } from "../../app/stores/jobs.ts";
import { fixed } from "../../app/styles/format.ts";
import type { RewardTerm } from "../../engine/rewards/term.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import { JudgeAnswers } from "../rollout-tools/reward-details.tsx";
import { Facts } from "./calibration-panel.tsx";
import { DiagnosisBox } from "./diagnosis-box.tsx";
import styles from "./pair.module.css";
import { ScoreBar } from "./score-bar.tsx";
import { promptsOf } from "./test-pairs.ts";
import { JUDGE_TEST, judgePair, type PairVerdict, useTryBlocker, useWorkshop } from "./workshop.ts";

/** A pair of captions entered by the user, and its verdict. */
export function PairPanel(): ReactNode {
  const draft = useWorkshop((state) => state.draft);
  const job = useJob(JUDGE_TEST);
  const own = job?.progress === "pair" ? job : null;
  const busy = own?.state === "running";
  const verdicts = useWorkshop((state) => state.verdicts);
  const problem = own?.problem ?? null;
  const blocker = useTryBlocker() ?? unwritten(draft);
  const start = (): void => {
    if (blocker === null) report(judgePair());
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    start();
  };
  return (
    <Panel
      title="Your pair"
      aside={
        busy ? (
          <Button onClick={() => stopJob(JUDGE_TEST)}>Stop</Button>
        ) : (
          <Button kind="primary" blocker={blocker} data-testid="judge-pair" onClick={start}>
            Judge
          </Button>
        )
      }
    >
      <div className={`grid gap-2-3 ${styles.fields}`}>
        <Caption label="Reference" hint="Reference caption of the region" field="reference" onKeyDown={onKeyDown} />
        <Caption label="Caption" hint="Caption to score" field="hypothesis" onKeyDown={onKeyDown} />
      </div>
      <div className={`row wrap mt-1 ${styles.foot}`}>
        <p className="muted small" role="status">
          {busy ? "Waiting for the judge…" : <Said verdict={verdicts[0]} />}
        </p>
        <Button
          kind="quiet"
          blocker={draft.reference === draft.hypothesis ? "Both captions are the same" : null}
          onClick={() => setDraft({ reference: draft.hypothesis, hypothesis: draft.reference })}
        >
          Swap
        </Button>
        {verdicts.length > 0 && (
          <Button kind="quiet" onClick={() => useWorkshop.setState({ verdicts: [] })}>
            Clear
          </Button>
        )}
      </div>
      {problem !== null && (
        <p className="p-2 bad small anywhere bad-soft round-m" role="alert" data-testid="pair-problem">
          {problem.message}
        </p>
      )}
      {verdicts.length > 0 && (
        <div className="mt-2" data-testid="pair-verdicts">
          {verdicts.map((verdict, at) => (
            <Verdict key={verdict.id} verdict={verdict} open={at === 0} />
          ))}
        </div>
      )}
    </Panel>
  );
}

function unwritten({ reference, hypothesis }: CaptionPair): string | null {
  if (reference.trim() === "") return "Enter the reference first";
  return hypothesis.trim() === "" ? "Enter the caption first" : null;
}

function setDraft(change: Partial<CaptionPair>): void {
  useWorkshop.setState(({ draft }) => ({ draft: { ...draft, ...change } }));
}

function Caption(props: {
  readonly label: string;
  readonly hint: string;
  readonly field: keyof CaptionPair;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}): ReactNode {
  const { label, hint, field, onKeyDown } = props;
  const value = useWorkshop((state) => state.draft[field]);
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={2}
        className={`full-width ${styles.text}`}
        placeholder={hint}
        data-testid={`pair-${field}`}
        value={value}
        onChange={(event) => setDraft({ [field]: event.currentTarget.value })}
        onKeyDown={onKeyDown}
      />
    </>
  );
}

function termOf({ rounds }: PairVerdict): RewardTerm | undefined {
  return rounds[0]?.[0];
}

/** The newest verdict in short; before the first one, the shortcut that requests it. */
function Said({ verdict }: { readonly verdict: PairVerdict | undefined }): ReactNode {
  if (verdict === undefined) {
    return (
      <>
        <kbd>Ctrl</kbd> <kbd>Enter</kbd> scores this pair without the cache
      </>
    );
  }
  const term = termOf(verdict);
  const cost = term?.judge === undefined ? "" : ` after ${Math.round(term.judge.latencyMs)} ms`;
  return term?.value == null ? `No verdict${cost}` : `Score ${fixed(term.value, 3)}${cost}`;
}

function Verdict({ verdict, open }: { readonly verdict: PairVerdict; readonly open: boolean }): ReactNode {
  const { pair, judge: by, url, counts } = verdict;
  const term = termOf(verdict);
  const detail = term?.judge;
  const prompts = detail === undefined ? [] : promptsOf(detail, pair, by.prompts, counts);
  return (
    <details className={styles.verdict} open={open} data-testid="pair-verdict">
      <summary className="grid gap-2 align-centre no-bullets pointer">
        <Score value={term?.value ?? null} />
        <span className={`clip ellipsis nowrap ${styles.caption}`}>{pair.hypothesis}</span>
      </summary>
      <div className={`grid gap-2 ${styles.body}`}>
        <p className="block muted anywhere">{pair.reference}</p>
        <DiagnosisBox judged={verdict} url={url} testId="pair-diagnosis" />
        {detail !== undefined && detail.positive !== null && (
          <Facts
            entries={[
              ["Positive questions", fixed(detail.positive, 3)],
              ["Negative questions", fixed(detail.negative, 3)],
              ["Object", detail.recognised === true ? "recognised" : "not recognised"],
              ["Latency", `${Math.round(detail.latencyMs)} ms`],
            ]}
          />
        )}
        {detail !== undefined && <JudgeAnswers detail={detail} />}
        {prompts.length > 0 && (
          <details className={styles.prompts}>
            <summary>{prompts.length === 1 ? "Prompt" : `${prompts.length} prompts`}</summary>
            {prompts.map((text, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: prompts have no other identity and never move
              <pre key={at} className="p-2 mt-2 scroll anywhere surface-2 round-m">
                {text}
              </pre>
            ))}
          </details>
        )}
      </div>
    </details>
  );
}

/** A score with its position between −1 and 1, as a number and as a bar. */
function Score({ value }: { readonly value: number | null }): ReactNode {
  if (value === null) return <b className={`bad medium ${styles.missing}`}>missing</b>;
  return (
    <>
      <b className="text-right">{fixed(value, 3)}</b>
      <ScoreBar from={Math.min(0, value)} to={Math.max(0, value)} negative={value < 0} />
    </>
  );
}
