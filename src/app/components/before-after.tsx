import { type ReactNode, useMemo, useRef } from "react";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { isStoredRow } from "../../engine/data/open-rows.ts";
import type { LoopId } from "../../engine/rl/loops/abouts.ts";
import { rangeText, signed, verdict } from "../../engine/runs/evaluations/difference-text.ts";
import { SCORES, type ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { Interval, RowScores, StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import { type Gain, gainsOf } from "../../engine/runs/evaluations/gains.ts";
import { baselineIn } from "../../engine/runs/library/run-result.ts";
import { linkTo, navigate, type Route } from "../stores/route.ts";
import { type SessionState, useSession } from "../stores/session.ts";
import { counted, fixed, NONE } from "../styles/format.ts";
import styles from "./before-after.module.css";
import { greedyAnswer, maskOwner, type RowAnswer } from "./held-out-texts.ts";
import { COLOUR_WORDS, type MaskLayer } from "./mask/layers.ts";
import { MaskFigure, type MaskFigureProps } from "./mask/mask-figure.tsx";

const SHOWN = 6;

interface Sides {
  readonly before: RowScores;
  readonly after: RowScores;
}

/**
 * Report rows of the last evaluation with the same rows of its baseline, spread evenly, so no score chooses them.
 * @param among number of rows to choose from: evaluations take the first held-out rows, so that one of this many has them too
 * @param earlier rows that were shown, which stay where this evaluation has them
 */
function spreadRows(list: readonly StoredEvaluation[], among: number, earlier: readonly RowScores[]): readonly Sides[] {
  const last = list.at(-1);
  if (last === undefined) return [];
  const first = new Map(baselineIn(list, last).rows.map((row) => [row.rowId, row]));
  const rows = last.rows.filter(({ part }) => part !== "selection").slice(0, among);
  const count = Math.min(SHOWN, rows.length);
  const kept = rows.filter(({ rowId }) => earlier.some((row) => row.rowId === rowId));
  const spread = Array.from({ length: count }, (_, at) => rows[Math.floor(((at + 0.5) * rows.length) / count)]);
  const chosen = new Set([...kept, ...spread.flatMap((row) => row ?? [])]);
  return [...chosen].slice(0, count).map((after) => ({ before: first.get(after.rowId) ?? after, after }));
}

/**
 * Answers without sampling for six held-out rows: at the start of the run and at its newest evaluation. A run without an
 * evaluation has the rows that were shown before it, without answers.
 */
export function BeforeAfter(props: {
  readonly evaluations: readonly StoredEvaluation[];
  /** Loops that train: the first decides whether captions with the partner's masks are shown, or the policy's masks. */
  readonly loops: readonly LoopId[];
  /** The run in the address. */
  readonly place: string | null;
  readonly among?: number;
  /** Words above the rows. */
  readonly children?: ReactNode;
}): ReactNode {
  const { evaluations, loops, place, among = Number.POSITIVE_INFINITY, children } = props;
  const shown = useRef<readonly RowScores[]>([]);
  const open = useSession((session) => session.rows);
  const rows = useMemo(() => spreadRows(evaluations, among, shown.current), [evaluations, among]);
  if (rows.length > 0) shown.current = rows.map(({ after }) => after);
  // A run over other data answers none of the rows before it.
  else shown.current = shown.current.filter((own) => open.some((row) => isStoredRow(row, own)));
  const last = evaluations.at(-1);
  const score = gainsOf(SCORES, loops, "loop")[0]?.scores[0]?.id;
  if (shown.current.length === 0 || score === undefined) return null;
  const [from, to] = last === undefined ? [0, 0] : [baselineIn(evaluations, last).report.step, last.report.step];
  const rowAt = (row: string): Partial<Route> => ({ screen: "train", tab: "held-out", run: place, step: to, row });
  const when = from === to ? `step ${to}, the only evaluation so far` : `step ${from} and step ${to}`;
  const owner = maskOwner(score);
  const outlines = shown.current.every((row) => givenIn(open, row) !== undefined)
    ? `The given region is ${COLOUR_WORDS.given}, the ${owner}'s mask ${COLOUR_WORDS[owner]}`
    : `The ${owner}'s mask is ${COLOUR_WORDS[owner]}; open the rows of the run to see the given regions`;
  const all = last?.rows.filter(({ part }) => part !== "selection").length ?? 0;
  const over =
    among < all ? `the first ${among} held-out rows, which your settings evaluate too` : counted(all, "held-out row");
  return (
    <section className="grid gap-2" aria-label="Before and after">
      <h2>Before and after</h2>
      {children}
      <figure className={`grid gap-2 ${styles.rows}`} data-testid="before-after">
        <figcaption className="muted small">
          {last === undefined
            ? `${counted(shown.current.length, "held-out row")}; their first answers come after step 1`
            : `${shown.current.length} of ${over}, evenly spread, answered without sampling at ${when}. ${outlines}`}
        </figcaption>
        <ol className="grid wide-tiles gap-3 m-0 p-0 no-bullets">
          {last === undefined
            ? shown.current.map((row) => <Waiting key={row.rowId} row={row} />)
            : rows.map((sides) => (
                <Row key={sides.after.rowId} {...sides} score={score} at={rowAt(sides.after.rowId)} />
              ))}
        </ol>
      </figure>
    </section>
  );
}

/** The mask of a row; of a run of an earlier version only if the row is open: a row of that name and picture. */
function givenIn(open: SessionState["rows"], of: RowScores): Rle | undefined {
  return of.givenMask ?? open.find((row) => isStoredRow(row, of))?.mask;
}

export const useGiven = (of: RowScores): Rle | undefined => useSession(({ rows }) => givenIn(rows, of));

/**
 * The given region, where it is known, and the mask of an answer on the picture; of a row that is not open, on the run's small picture.
 * @param props.answer null before one
 */
export function AnswerFigure(
  props: Pick<MaskFigureProps, "label" | "onPress"> & {
    readonly row: RowScores;
    readonly answer: RowAnswer | null;
  },
): ReactNode {
  const { row, answer, ...rest } = props;
  const { rowId, imageId, maskGreedy } = row;
  const given = useGiven(row);
  const [height, width] = maskGreedy.size;
  const layers = useMemo(
    (): readonly MaskLayer[] => [
      ...(given === undefined ? [] : [{ role: "given" as const, mask: given }]),
      ...(answer === null || answer.mask === null ? [] : [{ role: answer.maskOf, mask: answer.mask }]),
    ],
    [given, answer],
  );
  return (
    <MaskFigure
      {...rest}
      className="round-m"
      rowId={rowId}
      {...(imageId === undefined ? {} : { imageId })}
      width={width}
      height={height}
      layers={layers}
    />
  );
}

/** A row that is not answered yet. */
function Waiting({ row }: { readonly row: RowScores }): ReactNode {
  return (
    <li className="grid gap-1 min-0 align-start" data-row={row.rowId}>
      <span className={`grid ${styles.pair}`}>
        <AnswerFigure row={row} answer={null} label="Region of a held-out row" />
      </span>
      {/* Two lines, as of an answer, so that nothing moves when it comes. */}
      <span className="muted">no answer yet</span>
      <span className="small">&nbsp;</span>
    </li>
  );
}

/** The answers to a row. @param props.at where all of them are, which its pictures and numbers lead to */
function Row(props: Sides & { readonly score: ScoreId; readonly at: Partial<Route> }): ReactNode {
  const { before, after, score, at } = props;
  const trained = before !== after;
  const ofMask = maskOwner(score) === "policy";
  return (
    <li className="grid gap-1 min-0 align-start" data-row={after.rowId}>
      {ofMask && <span>{after.caption}</span>}
      <span className={`grid ${styles.pair}`}>
        <Answer row={before} score={score} when="before" captioned={!ofMask} at={at} />
        {trained && <Answer row={after} score={score} when="after" captioned={!ofMask} at={at} />}
      </span>
    </li>
  );
}

/** An answer: its figure and its caption. */
function Answer(props: {
  readonly row: RowScores;
  readonly score: ScoreId;
  readonly when: "before" | "after";
  /** Whether the policy wrote a caption, not a mask. */
  readonly captioned: boolean;
  readonly at: Partial<Route>;
}): ReactNode {
  const { row, score, when, captioned, at } = props;
  const answer = useMemo(() => greedyAnswer(row, score), [row, score]);
  const caption = answer.caption || "no caption";
  return (
    <span className="grid gap-2px align-start min-0" data-side={when}>
      <AnswerFigure
        row={row}
        answer={answer}
        onPress={() => navigate(at)}
        label={`Mask ${when} training${captioned ? `, ${caption}` : ""}, IoU ${fixed(answer.score, 2)}`}
      />
      {captioned && <span className={`anywhere ${when === "after" ? "bold" : "muted"}`}>{caption}</span>}
      <span className="muted small">
        {when}, <a href={linkTo(at)}>IoU {fixed(answer.score, 2)}</a>
      </span>
    </span>
  );
}

const TITLES = {
  greedy: "Answers without sampling and masks without exploration noise",
  sampled: "Answers drawn as in training; this score also rises where answers only become less random",
} as const;

/** The paired differences of a gain, greedy first, each with its 95 % interval; a dash before they are measured. */
export function GainNumbers(props: {
  readonly gain: Gain;
  readonly of: (id: ScoreId) => Interval | null;
  /** Pictures behind the numbers; too few get no colour. */
  readonly pictures: number;
  readonly className?: string;
  /** What else is known about a score, below its interval. */
  readonly note?: (id: ScoreId) => ReactNode;
}): ReactNode {
  const { gain, of, pictures, className = "", note } = props;
  return (
    <span className={className} data-testid="gain-numbers">
      {gain.scores.map(({ id, answers }) => {
        const difference = of(id);
        return (
          <span key={id} className="nowrap" title={TITLES[answers]} data-answers={answers}>
            <span className="muted small">{answers}</span>{" "}
            <b data-verdict={verdict(difference, pictures)}>{difference === null ? NONE : signed(difference.mean)}</b>{" "}
            <small className="muted">
              {difference !== null && rangeText(difference)}
              {note?.(id)}
            </small>
          </span>
        );
      })}
    </span>
  );
}
