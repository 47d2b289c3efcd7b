import { type CSSProperties, type ReactNode, useMemo, useState } from "react";
import { pluginCalls } from "../../app/clients/lab.ts";
import { evalTexts, greedyAnswer, isSampled } from "../../app/components/held-out-texts.ts";
import type { MaskLayer } from "../../app/components/mask/layers.ts";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import { Select } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { useSession } from "../../app/stores/session.ts";
import { counted, fixed } from "../../app/styles/format.ts";
import {
  differenceText,
  fewPicturesText,
  rowVerdict,
  signed,
  verdict,
} from "../../engine/runs/evaluations/difference-text.ts";
import type { ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { RowScores, StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import { countChanges, type RowPair, rowPairs } from "../../engine/runs/library/run-result.ts";
import type { RunManifest } from "../../engine/runs/manifest.ts";
import styles from "./compare.module.css";
import type { CompareCalls } from "./compare-calls.ts";
import { evaluationAt } from "./difference-rows.ts";

type Dated = Pick<RunManifest, "id" | "created" | "forkedFrom">;

interface Side extends Dated {
  readonly title: string;
  readonly list: readonly StoredEvaluation[];
}

/** The style that gives an element a run's colour. @param at place of the run among the compared ones */
export const colourOf = (at: number) => ({ "--run": `var(--run-${at + 1})` }) as CSSProperties;

/** Two runs, the later one second: the fork of the other, else the one that was started later. */
export function inOrder<T extends Dated>(one: T, other: T): readonly [T, T] {
  const forks = (run: T, parent: T): boolean => run.forkedFrom?.run === parent.id;
  const swapped = forks(one, other) || (!forks(other, one) && one.created > other.created);
  return swapped ? [other, one] : [one, other];
}

/** Rows of each kind. */
const SHOWN = 4;

/** Scores of answers without sampling, which have one mask and one caption. */
const SCORES = evalTexts("none").filter(({ id }) => !isSampled(id) && !id.startsWith("reward"));

/**
 * Held-out rows on which two runs differ most, side by side: the first run, and another that the user chooses.
 * @param props.sides two or more runs @param props.step of both evaluations; null for the newest of each
 */
export function HeldOutSides(props: { readonly sides: readonly Side[]; readonly step: number | null }): ReactNode {
  const { sides, step } = props;
  const [score, setScore] = useState<ScoreId>(SCORES[0]?.id ?? "grounding_iou");
  const [asked, setAsked] = useState<string | null>(null);
  const [one, ...others] = sides as readonly [Side, ...Side[]];
  const other = others.find(({ id }) => id === asked) ?? (others[0] as Side);
  const [earlier, later] = inOrder(one, other);
  const [before, after] = [evaluationAt(earlier.list, step), evaluationAt(later.list, step)];
  const pairs = useMemo(
    () => rowPairs(before?.rows ?? [], after?.rows ?? [], score).sort((a, b) => b.change - a.change),
    [before, after, score],
  );
  const named = (side: Side, shown: StoredEvaluation | undefined): string =>
    `${side.title}, step ${shown?.report.step ?? "–"}`;
  const names = [named(earlier, before), named(later, after)] as const;
  const kinds = [
    { better: later, sign: 1, rows: pairs.filter(({ change }) => rowVerdict(change) === "better").slice(0, SHOWN) },
    {
      better: earlier,
      sign: -1,
      rows: pairs
        .filter(({ change }) => rowVerdict(change) === "worse")
        .slice(-SHOWN)
        .reverse(),
    },
  ] as const;
  return (
    <Panel
      title="Held-out rows side by side"
      aside={
        <span className="row wrap gap-2">
          {others.length > 1 && (
            <Select
              label={`Compared with ${one.title}`}
              options={others.map(({ id, title }) => ({ value: id, label: title }))}
              value={other.id}
              onChange={setAsked}
            />
          )}
          <Select
            label="Score"
            options={SCORES.map(({ id, title }) => ({ value: id, label: title }))}
            value={score}
            onChange={setScore}
          />
        </span>
      }
    >
      {pairs.length === 0 ? (
        <p className="muted m-0">{whyNone([earlier, before], [later, after])}</p>
      ) : (
        <div className="grid gap-4" data-testid="held-out-sides">
          <Overall pairs={pairs} names={names} />
          {kinds.every(({ rows }) => rows.length === 0) && (
            <p className="muted m-0">The answers to every row have the same score, to the second decimal</p>
          )}
          {kinds
            .filter(({ rows }) => rows.length > 0)
            .map(({ better, sign, rows }) => (
              <section key={sign} className="grid gap-2" aria-label={`Better in ${better.title}`}>
                <h3 className="m-0 anywhere">Better in {better.title}</h3>
                <ol className={`grid gap-3 m-0 p-0 no-bullets ${styles.pairs}`}>
                  {rows.map(({ before: was, after: now, change }) => (
                    <li key={now.rowId} className="grid gap-1 min-0 align-start">
                      <span className="muted small anywhere">
                        {now.caption} · <b>{signed(sign * change)}</b>
                      </span>
                      <span className={`grid gap-2 align-start ${styles.pair}`}>
                        <Answer title={names[0]} colour={sides.indexOf(earlier)} row={was} score={score} />
                        <Answer title={names[1]} colour={sides.indexOf(later)} row={now} score={score} />
                      </span>
                    </li>
                  ))}
                </ol>
              </section>
            ))}
        </div>
      )}
    </Panel>
  );
}

/** Why two runs have no pair of answers to a row. */
function whyNone(...sides: readonly (readonly [Side, StoredEvaluation | undefined])[]): string {
  const missing = sides.find(([, evaluation]) => evaluation === undefined)?.[0];
  return missing === undefined
    ? "The two runs were evaluated on different held-out rows, or lack this score"
    : `${missing.title} has no held-out evaluation`;
}

const WORDS = { better: "better", worse: "worse", open: "no clear difference" } as const;

/** The mean difference of the later run to the earlier one, with a verdict only where its interval allows one. */
function Overall({ pairs, names }: { readonly pairs: readonly RowPair[]; readonly names: readonly [string, string] }) {
  const images = pairs.map(({ after }) => after.imageId);
  const pictures = new Set(images).size;
  const { value, problem } = useAsync(pairs, () =>
    pluginCalls<CompareCalls>("data").meanChange(
      pairs.map(({ change }) => change),
      images,
    ),
  );
  const { better, worse } = countChanges(pairs);
  const found = verdict(value ?? null, pictures);
  const few = fewPicturesText(pictures);
  return (
    <p className="m-0 anywhere" role="status" data-testid="sides-overall">
      {names[1]} minus {names[0]}, {counted(pairs.length, "report row")}:{" "}
      {problem !== null && <span className="bad">{problem}</span>}
      {value !== undefined && (
        <>
          <b data-verdict={found}>{differenceText(value)}</b>, {few === "" ? WORDS[found] : few};{" "}
          {counted(better, "row")} better, {worse} worse
        </>
      )}
    </p>
  );
}

/** The given region and the mask of an answer on its picture, and its caption. */
function Answer(props: {
  readonly title: string;
  /** Place of the run among the compared ones. */
  readonly colour: number;
  readonly row: RowScores;
  readonly score: ScoreId;
}): ReactNode {
  const { title, colour, row, score } = props;
  const { rowId, imageId, maskGreedy } = row;
  const answer = useMemo(() => greedyAnswer(row, score), [row, score]);
  const given = useSession(({ rows }) => rows.find((own) => own.id === rowId && own.imageId === imageId)?.mask);
  const layers = useMemo(
    (): readonly MaskLayer[] => [
      ...(given === undefined ? [] : [{ role: "given" as const, mask: given }]),
      ...(answer.mask === null ? [] : [{ role: answer.maskOf, mask: answer.mask }]),
    ],
    [given, answer],
  );
  const [height, width] = maskGreedy.size;
  const caption = answer.caption || "no caption";
  return (
    <span className="grid gap-1 min-0 align-start">
      <MaskFigure
        rowId={rowId}
        imageId={imageId}
        width={width}
        height={height}
        layers={layers}
        label={`${title}: ${caption}, score ${fixed(answer.score, 2)}`}
      />
      <b className="anywhere">{caption}</b>
      <span className="row gap-2 between min-0 small">
        <span className={`muted clip ellipsis nowrap ${styles.run}`} style={colourOf(colour)} title={title}>
          {title}
        </span>
        <b>{fixed(answer.score, 3)}</b>
      </span>
    </span>
  );
}
