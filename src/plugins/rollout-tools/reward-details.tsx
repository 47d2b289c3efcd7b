import { type ReactNode, useState } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import {
  compareMasks,
  type MaskComparison,
  splitTerms,
  termName,
  weightText,
} from "../../app/components/rollout/rollout-view.ts";
import { TableHead } from "../../app/components/ui/table.tsx";
import { fixed, formatCount, NONE } from "../../app/styles/format.ts";
import type { JudgeDetail, MeteorDetail, RewardTerm } from "../../engine/rewards/term.ts";
import { findTerm } from "../../engine/rewards/terms/registry.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import { noisyMask, termContribution } from "../../engine/runs/rollouts/rollout-facts.ts";
import styles from "./reward.module.css";

/** How the reward of a rollout came about: its terms, and how each was computed. */
export default function RewardDetails({ rollout }: Places["reward"]): ReactNode {
  // The reward is that of the sampled mask, not of the mask without noise that figures draw.
  const comparison = compareMasks(rollout, rollout.predictedMask);
  const compared = noisyMask(rollout) === null ? "Mask" : "Sampled mask";
  const { rewarded, watched: all } = splitTerms(rollout.terms);
  // A cost of the partner's words is not the policy's.
  const ofWords = aboutLoop(rollout.loop).samples === "text";
  const watched = all.filter(({ name }) => ofWords || findTerm(name)?.cost !== true);
  return (
    <div className={`grid gap-4 ${styles.reward}`}>
      <table className={`full-width ${styles.termTable}`}>
        <TableHead columns={["Term", "Value", "Weight", "Value × weight", "Remark"]} />
        <tbody>
          {rewarded.map((term) => (
            <TermRow key={term.name} term={term} />
          ))}
          <tr className={styles.total}>
            <th scope="row">Reward</th>
            <td>{fixed(rollout.reward, 4)}</td>
            <td />
            <td />
            <td className={styles.note}>{rollout.reward === null ? "missing; excluded from the group" : ""}</td>
          </tr>
        </tbody>
        {watched.length > 0 && (
          <tbody className={`muted ${styles.watched}`}>
            <tr>
              <th scope="rowgroup" colSpan={5}>
                Measured, not part of the reward
              </th>
            </tr>
            {watched.map((term) => (
              <TermRow key={term.name} term={term} />
            ))}
          </tbody>
        )}
      </table>
      {rollout.terms.map((term) => (
        <TermDetail key={term.name} term={term} comparison={comparison} />
      ))}
      {!rollout.terms.some((term) => term.iou !== undefined) && comparison !== null && (
        <IouDetail title={`${compared} compared with the given mask; not part of the reward`} comparison={comparison} />
      )}
    </div>
  );
}

function TermRow({ term }: { readonly term: RewardTerm }): ReactNode {
  return (
    <tr>
      <th scope="row">{termName(term.name)}</th>
      <td>{fixed(term.value, 4)}</td>
      <td>{term.weight === 0 ? NONE : weightText(term.weight)}</td>
      <td>{term.weight === 0 ? NONE : fixed(termContribution(term), 4)}</td>
      <td className={styles.note}>{term.note ?? (term.value === null ? "not measured" : "")}</td>
    </tr>
  );
}

function TermDetail(props: { readonly term: RewardTerm; readonly comparison: MaskComparison | null }): ReactNode {
  const { term, comparison } = props;
  if (term.iou !== undefined) {
    const { intersection, union } = term.iou;
    const counted = comparison ?? { intersection, union, missed: 0, extra: union - intersection, iou: term.value ?? 0 };
    return <IouDetail title={termName(term.name)} comparison={{ ...counted, intersection, union }} />;
  }
  if (term.judge !== undefined) return <JudgeAnswers detail={term.judge} />;
  return term.meteor === undefined ? null : <MeteorDetails detail={term.meteor} />;
}

/** Intersection and union as counts and as a bar of hit, missed and extra pixels. */
function IouDetail(props: { readonly title: string; readonly comparison: MaskComparison }): ReactNode {
  const { intersection, union, missed, extra } = props.comparison;
  const parts = [["hit", intersection] as const, ["missed", missed] as const, ["extra", extra] as const];
  const share = (pixels: number): string => `${union === 0 ? 0 : (pixels / union) * 100}%`;
  return (
    <section className={styles.detail}>
      <h3>{props.title}</h3>
      <p className={`muted ${styles.formula}`}>
        {formatCount(intersection)} px intersection / {formatCount(union)} px union ={" "}
        <b>{union === 0 ? NONE : fixed(intersection / union, 4)}</b>
      </p>
      <div className={`flex clip surface-2 ${styles.parts}`} aria-hidden="true">
        {parts.map(([name, pixels]) => (
          <span key={name} className={styles[name]} data-fill style={{ width: share(pixels) }} />
        ))}
      </div>
      <ul className={styles.partNames}>
        {parts.map(([name, pixels]) => (
          <li key={name}>
            <i className={styles[name]} /> {name} {formatCount(pixels)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A METEOR score word by word, with its numbers. */
export function MeteorDetails({ detail }: { readonly detail: MeteorDetail }): ReactNode {
  const numbers = [
    ["matches", String(detail.matches.length)],
    ["chunks", String(detail.chunks)],
    ["precision", fixed(detail.precision, 3)],
    ["recall", fixed(detail.recall, 3)],
    ["F mean", fixed(detail.fMean, 3)],
    ["penalty", fixed(detail.penalty, 3)],
    ["score", fixed(detail.score, 4)],
  ] as const;
  return (
    <section className={styles.detail}>
      <h3>METEOR</h3>
      <MeteorAlignment detail={detail} />
      <dl className={`flex wrap ${styles.numbers}`}>
        {numbers.map(([name, value]) => (
          <div key={name}>
            <dt className="muted small">{name}</dt>
            <dd className="bold">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Both captions, with matched words underlined by kind; hovering over a word marks its match. */
function MeteorAlignment({ detail }: { readonly detail: MeteorDetail }): ReactNode {
  const [marked, setMarked] = useState<number | null>(null);
  return (
    <div className="grid gap-2">
      <Words name="hypothesis" words={detail.hypothesis} side={0} {...{ detail, marked, setMarked }} />
      <Words name="reference" words={detail.reference} side={1} {...{ detail, marked, setMarked }} />
      <ul className={styles.kinds}>
        {(["exact", "stem", "synonym"] as const).map((kind) => (
          <li key={kind}>
            <span className={styles[kind]}>{kind}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface WordsProps {
  readonly name: string;
  readonly words: readonly string[];
  /** Position of this side's index in a match. */
  readonly side: 0 | 1;
  readonly detail: MeteorDetail;
  readonly marked: number | null;
  readonly setMarked: (match: number | null) => void;
}

function Words({ name, words, side, detail, marked, setMarked }: WordsProps): ReactNode {
  return (
    <p className={`flex wrap align-baseline large ${styles.words}`}>
      <span className={`muted small ${styles.side}`}>{name}</span>
      {words.map((word, at) => {
        const match = detail.matches.findIndex((candidate) => candidate[side] === at);
        const kind = detail.matches[match]?.[2];
        return (
          // biome-ignore lint/a11y/noStaticElementInteractions: pointing only marks the pair; the kinds are read from the underline
          <span
            // biome-ignore lint/suspicious/noArrayIndexKey: words have no other identity and never move
            key={at}
            className={kind === undefined ? "muted" : styles[kind]}
            data-marked={match >= 0 && match === marked}
            title={kind}
            onMouseEnter={() => setMarked(match >= 0 ? match : null)}
            onMouseLeave={() => setMarked(null)}
          >
            {word}
          </span>
        );
      })}
    </p>
  );
}

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
