import { Fragment, type ReactNode, useId, useState } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { saveBlob } from "../../app/clients/save-blob.ts";
import { evalTexts } from "../../app/components/held-out-texts.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Segmented, Select } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { linkTo } from "../../app/stores/route.ts";
import { counted, fixed, NONE } from "../../app/styles/format.ts";
import { differenceText, fewPicturesText, verdict } from "../../engine/runs/evaluations/difference-text.ts";
import { EVAL_METRICS, type EvalMetric } from "../../engine/runs/evaluations/evaluation-metrics.ts";
import type { RunDigest } from "../../engine/runs/library/digest.ts";
import type { BoardCalls } from "./board-calls.ts";
import type { Board, BoardAsked, BoardLine } from "./leaderboard.ts";

/** Scores of greedy answers, which rank the runs; the sampled score of the same name is shown beside them. */
const SCORES = evalTexts("none").flatMap(({ id, title }) => {
  const value = EVAL_METRICS.find((metric) => metric === id && !metric.endsWith("_sampled"));
  return value === undefined ? [] : [{ value, label: title.replace(", greedy", "") }];
});
const sampledOf = (score: EvalMetric): EvalMetric => score.replace("_greedy", "_sampled") as EvalMetric;

interface BothBoards {
  readonly greedy: Board;
  /** Of the sampled answers; null for a score without any. */
  readonly sampled: Board | null;
}

async function readBoards(asked: BoardAsked): Promise<BothBoards[]> {
  const data = pluginCalls<BoardCalls>("data");
  const score = sampledOf(asked.score);
  const [greedy, sampled] = await Promise.all([
    data.leaderboards(asked),
    score === asked.score ? [] : data.leaderboards({ ...asked, score }),
  ]);
  return greedy.map((board) => ({ greedy: board, sampled: sampled.find(({ hash }) => hash === board.hash) ?? null }));
}
const AT = { newest: "Newest", best: "Best checkpoint" } as const;
const OWN_START = "";

/** Evaluated runs by a held-out score, over the same rows. @param runs those that are listed */
export default function Leaderboard({ runs }: { readonly runs: readonly RunDigest[] }): ReactNode {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [score, setScore] = useState<EvalMetric>("grounding_iou");
  const [at, setAt] = useState<BoardAsked["at"]>("newest");
  const [base, setBase] = useState(OWN_START);
  const evaluated = runs.filter((run) => run.evaluated.length > 0);
  const known = evaluated.some(({ manifest }) => manifest.id === base) ? base : OWN_START;
  const asked: BoardAsked = { score, at, base: known === OWN_START ? null : known };
  const scored = evaluated.map(({ manifest, evaluated: steps }) => `${manifest.id} ${steps.join(" ")}`).join();
  const boards = useAsync(open ? `${score} ${at} ${known}` : null, () => readBoards(asked), [scored]);
  if (evaluated.length === 0) return null;
  const save = async (board: Board): Promise<void> =>
    saveBlob(await pluginCalls<BoardCalls>("data").boardRows(asked, board.hash), `leaderboard-${score}.csv`);
  return (
    <Panel
      title="Leaderboard"
      aside={
        <Button data-testid="leaderboard-open" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Hide" : "Show"}
        </Button>
      }
    >
      {!open ? (
        <p className="muted small m-0">Held-out scores of all runs over the same rows, with paired differences</p>
      ) : (
        <div className="column-flex gap-3" data-testid="leaderboard">
          <div className="row wrap gap-2-4">
            <Select label="Score" options={SCORES} value={score} onChange={setScore} testId="leaderboard-score" />
            <Segmented label="Evaluation" options={AT} value={at} onChange={setAt} />
            <span className="row gap-2">
              <label htmlFor={id}>Compared with</label>
              <Select
                id={id}
                options={[
                  { value: OWN_START, label: "the run's start" },
                  ...evaluated.map(({ manifest }) => ({ value: manifest.id, label: manifest.title })),
                ]}
                value={known}
                onChange={setBase}
                testId="leaderboard-base"
              />
            </span>
          </div>
          {boards.problem !== null && <p className="bad">{boards.problem}</p>}
          {boards.loading && <p className="muted">Reading evaluations…</p>}
          {boards.value?.map(({ greedy: board, sampled }) => {
            const lines = board.lines.filter(({ run }) => evaluated.some(({ manifest }) => manifest.id === run));
            return lines.length === 0 ? null : (
              <BoardTable
                key={board.hash}
                board={{ ...board, lines }}
                sampled={sampled}
                base={known}
                onSave={() => report(save(board))}
              />
            );
          })}
        </div>
      )}
    </Panel>
  );
}

function BoardTable(props: {
  readonly board: Board;
  readonly sampled: Board | null;
  readonly base: string;
  readonly onSave: () => void;
}): ReactNode {
  const { board, sampled, base, onSave } = props;
  const few = fewPicturesText(board.pictures);
  return (
    <div className="scroll-x">
      <table className="small worded">
        <caption className="text-left muted small">
          <span className="row wrap gap-2">
            {counted(board.rows, "held-out row")} of {counted(board.pictures, "picture")} ({board.hash.slice(0, 8)}),
            without those that choose the best checkpoint
            {few !== "" && <span className="warn">{few}</span>}
            <Button kind="quiet" onClick={onSave}>
              Save rows as CSV
            </Button>
          </span>
        </caption>
        <TableHead
          columns={[
            "Run",
            "Step",
            "Greedy score",
            "Greedy difference (95 % interval)",
            ...(sampled === null ? [] : ["Sampled score", "Sampled difference"]),
            "Rows better, worse",
          ]}
        />
        <tbody>
          {board.lines.map((line) => (
            <Line
              key={line.run}
              line={line}
              sampled={
                sampled === null
                  ? null
                  : (sampled.lines.find(({ run }) => run === line.run) ?? {
                      ...line,
                      mean: Number.NaN,
                      difference: null,
                    })
              }
              pictures={board.pictures}
              base={line.run === base}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line(props: {
  readonly line: BoardLine;
  /** Its sampled answers; null for a score without any. */
  readonly sampled: BoardLine | null;
  readonly pictures: number;
  readonly base: boolean;
}): ReactNode {
  const { line, sampled, pictures, base } = props;
  const { run, title, step, difference, better, worse } = line;
  return (
    <tr>
      <th scope="row">
        <a
          className="cell-link"
          href={linkTo({ screen: "train", tab: "held-out", run, step })}
          title="Rows behind this score"
        >
          {title}
        </a>
      </th>
      <td>{step}</td>
      {[line, ...(sampled === null ? [] : [sampled])].map(({ mean, difference: change }, at) => (
        <Fragment key={at === 0 ? "greedy" : "sampled"}>
          <td>
            <b>{fixed(mean, 3)}</b>
          </td>
          <td data-verdict={verdict(change, pictures)}>
            {base ? "compared with" : change === null ? NONE : differenceText(change)}
          </td>
        </Fragment>
      ))}
      <td>{difference === null ? NONE : `${better}, ${worse}`}</td>
    </tr>
  );
}
