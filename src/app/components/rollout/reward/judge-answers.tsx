import type { ReactNode } from "react";
import type { JudgeDetail } from "../../../../engine/rewards/term.ts";
import { fixed, NONE } from "../../../styles/format.ts";
import styles from "./judge-answers.module.css";

const KIND_NAMES: Readonly<Record<JudgeDetail["instrument"], string>> = {
  questions: "Question judge",
  dlc: "DLC-style judge",
};

/** Every question with its answer and points, the computation of the score, and the raw replies. */
export function JudgeAnswers({ detail }: { readonly detail: JudgeDetail }): ReactNode {
  const { answers, raw, score, recognised, cached, calls, latencyMs, cost, failure } = detail;
  const counted = answers.flatMap(({ points }) => points ?? []);
  const sum = counted.reduce((total, points) => total + points, 0);
  return (
    <section className="grid gap-2 min-0">
      <h3>Judge</h3>
      {score !== null && counted.length > 0 && (
        <p className={`muted ${styles.formula}`}>
          {fixed(sum, 2)} points / {counted.length} questions = <b>{fixed(score, 4)}</b>
          {recognised === false && ", the object was not recognised, so no question scores above 0"}
        </p>
      )}
      {failure !== null && <p className="bad">No verdict: {failure}</p>}
      {answers.length > 0 && (
        <ol className={`grid m-0 p-0 no-bullets ${styles.answers}`}>
          {answers.map(({ type, question, choice, choices, points }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: questions have no other identity and never move
            <li key={at} title={choices.join("\n")}>
              <span className={`muted small ${styles.kind}`}>{type}</span>
              <span className="muted anywhere">{question}</span>
              <span className={`anywhere ${styles.choice}`}>{choice ?? "fits no choice"}</span>
              <b className={`text-right ${styles.points}`} data-sign={points === null ? 0 : Math.sign(points)}>
                {points === null ? NONE : fixed(points, 1)}
              </b>
            </li>
          ))}
        </ol>
      )}
      <p className="muted small anywhere">
        {KIND_NAMES[detail.instrument]} · {detail.model} · prompts {detail.version} ·{" "}
        {cached ? "from the cache" : `${calls} ${calls === 1 ? "call" : "calls"}, ${Math.round(latencyMs)} ms`}
        {cost > 0 && ` · cost ${cost.toPrecision(3)}`}
      </p>
      {raw.length > 0 && (
        <details className={styles.raw}>
          <summary className="muted pointer">Raw replies</summary>
          {raw.map((text, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: replies have no other identity and never move
            <pre key={at} className="p-2 mt-2 scroll anywhere surface-2 round-m">
              {text === "" ? "(empty)" : text}
            </pre>
          ))}
        </details>
      )}
    </section>
  );
}
