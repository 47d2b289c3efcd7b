import type { ReactNode } from "react";
import { report } from "../../app/clients/lab.ts";
import { Badge, Button } from "../../app/components/ui/button.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { stopJob, useJob } from "../../app/stores/jobs.ts";
import { fixed } from "../../app/styles/format.ts";
import { JudgeAnswers } from "../rollout-tools/reward-details.tsx";
import { DiagnosisBox } from "./diagnosis-box.tsx";
import { inOrder } from "./test-pairs.ts";
import styles from "./workshop.module.css";
import { JUDGE_TEST, type TestResult, testJudge, useTryBlocker, useWorkshop } from "./workshop.ts";

const EXPECTED = { same: "highest", close: "between", wrong: "lowest" } as const;

/** Scores three fixed pairs and explains failures. */
export function TestPanel(): ReactNode {
  const job = useJob(JUDGE_TEST);
  const busy = job?.state === "running" ? job.progress : null;
  const test = useWorkshop((state) => state.test);
  const problem = job === null || job.progress === "pair" ? null : job.problem;
  const blocker = useTryBlocker();
  return (
    <Panel
      title="Test"
      aside={
        busy === "test" ? (
          <Button onClick={() => stopJob(JUDGE_TEST)}>Stop</Button>
        ) : (
          <Button kind="primary" blocker={blocker} data-testid="judge-test" onClick={() => report(testJudge())}>
            Test
          </Button>
        )
      }
    >
      <p className="muted small">Scores three fixed caption pairs with the current prompts, without the cache</p>
      {busy === "test" && (
        <p className="muted small" role="status">
          Waiting for the judge…
        </p>
      )}
      {problem !== null && (
        <p className="p-2 bad small anywhere bad-soft round-m" role="alert" data-testid="judge-problem">
          {problem.message}
        </p>
      )}
      {test !== null && <Result test={test} />}
    </Panel>
  );
}

function Result({ test }: { readonly test: TestResult }): ReactNode {
  const terms = test.rounds[0] ?? [];
  const ordered = inOrder(terms.map((term) => term.value));
  return (
    <div className="column-flex gap-2 mt-3" data-testid="judge-result">
      <DiagnosisBox judged={test} url={test.url} testId="judge-diagnosis" />
      <table className={`full-width ${styles.table}`}>
        <TableHead columns={["Pair", "Prediction", "Score", "Latency"]} />
        <tbody>
          {test.pairs.map((pair, at) => {
            const term = terms[at];
            return (
              <tr key={pair.name} data-testid={`judge-pair-${pair.name}`}>
                <th scope="row">
                  {pair.name}
                  <small className="block muted">{EXPECTED[pair.name]}</small>
                </th>
                <td className={styles.caption}>{pair.hypothesis}</td>
                <td>{term?.value === null ? "missing" : fixed(term?.value, 3)}</td>
                <td className="nowrap">{term?.judge === undefined ? "–" : `${Math.round(term.judge.latencyMs)} ms`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {ordered !== null && (
        <p className={styles.verdict}>
          {ordered ? <Badge tone="good">In order</Badge> : <Badge tone="warn">Wrong order</Badge>}{" "}
          {ordered
            ? "The judge ranks the same, the similar and the wrong caption correctly"
            : "The judge answers but ranks these captions wrongly. Use a larger model"}
        </p>
      )}
      {test.pairs.map((pair, at) => {
        const detail = terms[at]?.judge;
        return detail === undefined ? null : (
          <details key={pair.name} className={styles.answers}>
            <summary>Questions, answers and raw replies: {pair.name}</summary>
            <JudgeAnswers detail={detail} />
          </details>
        );
      })}
      <p className="muted small">
        {test.judge.model} at {test.judge.place}, prompts {test.judge.version}
      </p>
    </div>
  );
}
