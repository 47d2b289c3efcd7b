/** Held-out rows as cards: the answers of the start beside those of the newest weights. */
import { type Key, type ReactNode, useMemo, useState } from "react";
import { rowVerdict, signed } from "../../../engine/runs/evaluations/difference-text.ts";
import { rowScoreOf, type ScoreId } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { RowScores } from "../../../engine/runs/evaluations/evaluations.ts";
import type { RowPair } from "../../../engine/runs/library/run-result.ts";
import { AnswerFigure, useGiven } from "../../components/before-after.tsx";
import { answersOf, greedyAnswer, isSampled, partnerAnswer, type RowAnswer } from "../../components/held-out-texts.ts";
import { hoverClip, leaveClip, useClipFrame } from "../../components/mask/frame-store.ts";
import { FramePanels } from "../../components/place/place.tsx";
import { CaptionDiff } from "../../components/rollout/caption.tsx";
import { Button } from "../../components/ui/button.tsx";
import { fixed, scoreText } from "../../styles/format.ts";
import styles from "./train.module.css";

interface RowProps {
  readonly pair: RowPair;
  readonly metric: ScoreId;
}

const SIDES = ["before", "after"] as const;
const WHEN = { before: "Start", after: "Now" } as const;

/** A column of a row: the answers of one set of weights, and the mean of their scores. */
interface Column {
  readonly name: string;
  readonly row: RowScores;
  readonly answers: readonly RowAnswer[];
  readonly score: number | null;
}

/** The sides of a row: one where an evaluation stands alone. */
const sidesOf = ({ before, after }: RowPair): typeof SIDES | readonly ["before"] =>
  before === after ? ["before"] : SIDES;

/** The start, the current weights, and the current partner where it has its own answer for the score. */
function columnsOf(pair: RowPair, metric: ScoreId): readonly Column[] {
  const sides = sidesOf(pair).map((side): Column => {
    const row = pair[side];
    return { name: WHEN[side], row, answers: answersOf(row, metric), score: rowScoreOf(row, metric) };
  });
  const partner = partnerAnswer(pair.after, metric);
  return partner === null
    ? sides
    : [...sides, { name: "Partner now", row: pair.after, answers: [partner], score: partner.score }];
}

/** One held-out row: the answers of the start and of the newest weights, with the change of the score. */
export function RowCard(props: RowProps & { readonly onOpen: () => void }): ReactNode {
  const { pair, metric, onOpen } = props;
  const { rowId, imageId } = pair.after;
  const frame = useClipFrame(rowId, imageId);
  return (
    <article
      className="grid gap-2 min-0"
      data-testid="eval-row"
      onPointerEnter={() => hoverClip(rowId, frame)}
      onPointerLeave={() => leaveClip(rowId)}
      onFocus={() => hoverClip(rowId, frame)}
      onBlur={() => leaveClip(rowId)}
    >
      <p className="flex gap-2 between">
        <button
          type="button"
          className={`p-0 borderless clear text-left pointer anywhere ${styles.openRow}`}
          onClick={onOpen}
        >
          {pair.after.caption}
        </button>
        {pair.before !== pair.after && <Change value={pair.change} />}
      </p>
      <div className={`grid gap-2 ${styles.pair}`}>
        {columnsOf(pair, metric).map(({ name, row, answers, score }) => (
          <div key={name} className="grid gap-1 align-start min-0">
            <small className="muted">
              {name} <b>{scoreText(score)}</b>
            </small>
            <div className={`grid gap-1 ${answers.length > 1 ? styles.draws : ""}`}>
              {answers.map((answer, n) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: draws have no other identity and never move
                <Answer key={n} answer={answer} row={row} scored={answers.length > 1} onPress={onOpen} />
              ))}
            </div>
            {answers.length === 1 && <span className="anywhere">{answers[0]?.caption || "no caption"}</span>}
          </div>
        ))}
      </div>
    </article>
  );
}

/** All answers of a row, before and after, with their texts. */
export function RowDetails({ pair, metric }: RowProps): ReactNode {
  const given = useGiven(pair.after);
  const { after } = pair;
  const tracks = useMemo(
    () =>
      sidesOf(pair).map((side, at, all) => ({
        name: WHEN[side],
        mask: greedyAnswer(pair[side], metric).mask,
        selected: at === all.length - 1,
      })),
    [pair, metric],
  );
  return (
    <div className="grid gap-4 p-4">
      <p className="large bold anywhere">{after.caption}</p>
      {given !== undefined && <FramePanels rowId={after.rowId} given={given} tracks={tracks} fileName="held-out-row" />}
      <div className={`grid gap-4 ${styles.columns}`} data-sampled={isSampled(metric)}>
        {columnsOf(pair, metric).map(({ name, row, answers, score }) => {
          const shown = answers.some(({ greedy }) => greedy) ? answers : [greedyAnswer(row, metric), ...answers];
          return (
            <section key={name} className="grid gap-2">
              <h3>
                {name} <span className="muted normal">{scoreText(score)}</span>
              </h3>
              <div className={`grid gap-3 ${styles.answers}`}>
                {shown.map((answer, n) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: draws have no other identity and never move
                  <div key={n} className="grid gap-2 align-start min-0">
                    <Answer answer={answer} row={row} scored={shown.length > 1} />
                    <CaptionDiff
                      name={answer.greedy ? "Greedy" : `Sample ${n}`}
                      text={answer.caption}
                      reference={after.caption}
                    />
                  </div>
                ))}
              </div>
            </section>
          );
        })}
      </div>
    </div>
  );
}

function Answer(props: {
  readonly answer: RowAnswer;
  readonly row: RowScores;
  /** Whether its score stands below it: one of several answers. */
  readonly scored: boolean;
  readonly onPress?: () => void;
}): ReactNode {
  const { answer, scored, ...rest } = props;
  return (
    <div>
      <AnswerFigure {...rest} answer={answer} label={`${answer.caption || "no caption"}, ${fixed(answer.score, 3)}`} />
      {scored && <b className="block small text-right">{scoreText(answer.score)}</b>}
    </div>
  );
}

/** The change of a row's score. */
export function Change({ value }: { readonly value: number }): ReactNode {
  return <b data-verdict={rowVerdict(value)}>{signed(value)}</b>;
}

const PAGE = 12;

/** Cards of rows in a grid, more of them on demand. @param card content of a row's card */
export function RowCards<T>(props: {
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => Key;
  readonly card: (row: T) => ReactNode;
  /** Whether a card has one picture. */
  readonly small?: boolean;
  readonly testId?: string;
}): ReactNode {
  const { rows, keyOf, card, small = false } = props;
  const [shown, setShown] = useState(PAGE);
  return (
    <>
      <ol className={`grid ${small ? "tiles" : "wide-tiles"} gap-3 m-0 p-0 no-bullets`} data-testid={props.testId}>
        {rows.slice(0, shown).map((row) => (
          <li className="grid gap-2 min-0 align-start p-3 framed round-l surface" key={keyOf(row)}>
            {card(row)}
          </li>
        ))}
      </ol>
      {shown < rows.length && (
        <Button kind="quiet" onClick={() => setShown(shown + 4 * PAGE)}>
          Show {Math.min(4 * PAGE, rows.length - shown)} more of {rows.length}
        </Button>
      )}
    </>
  );
}
