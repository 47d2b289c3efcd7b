import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { create } from "zustand";
import { lab } from "../../app/clients/lab.ts";
import { splitTerms, termName } from "../../app/components/rollout/rollout-view.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { IconBack, IconChevron } from "../../app/components/ui/icons.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { useSession } from "../../app/stores/session.ts";
import { fixed, formatCount, NONE } from "../../app/styles/format.ts";
import { shownLoops } from "../../engine/config/derived.ts";
import { hasWeight, weightKey } from "../../engine/config/groups/reward-weights.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { isStoredRow } from "../../engine/data/open-rows.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import { LabError, thrownText } from "../../engine/errors.ts";
import { rewardPlan, withoutJudge } from "../../engine/rewards/composer/plan.ts";
import type { ScoredRollout } from "../../engine/rewards/types.ts";
import { LOOP_IDS, type LoopId, perLoop } from "../../engine/rl/loops/abouts.ts";
import { termContribution } from "../../engine/runs/rollouts/rollout-facts.ts";
import { MeteorDetails } from "../rollout-tools/reward-details.tsx";
import { MaskPainter } from "./mask-painter.tsx";
import styles from "./trial.module.css";

/** A row with an editable caption and mask. */
export interface Trial {
  readonly rowId: string;
  readonly imageId: string;
  readonly caption: string;
  readonly mask: Rle | null;
}

/** Scores of a trial while it is edited; only the newest edit counts. */
export interface LiveScore {
  /** Null before the first score, and while the custom reward has a weight and fails. */
  readonly loops: Readonly<Record<LoopId, ScoredRollout>> | null;
  /** Value of the custom reward, also without a weight; null without a function. */
  readonly custom: number | null;
  readonly customProblem: string | null;
  /** Why the other terms have no value. */
  readonly problem: string | null;
  readonly busy: boolean;
}

interface Trials {
  /** What the user made of a row; null before the first edit. */
  readonly trial: Trial | null;
  /** Of the row that is tried out; null without rows. */
  readonly score: LiveScore | null;
  /** Number of that row. */
  readonly row: number | null;
}

/** What is tried out beside the composer. */
export const useTrials = create<Trials>()(() => ({ trial: null, score: null, row: null }));

/** Puts a rollout into the try-out and shows it. */
export function tryOut(trial: Trial): void {
  useTrials.setState({ trial });
  document.getElementById(PLACE)?.scrollIntoView({ block: "nearest" });
}

const PLACE = "try-out";

function trialOf(row: RegionSummary): Trial {
  return { rowId: row.id, imageId: row.imageId, caption: row.caption, mask: row.mask };
}

/** Milliseconds without an edit before scoring. */
const PAUSE_MS = 60;

/** Scores a trial with the settings of the page. METEOR replaces the judge, so that keystrokes make no requests. */
function useScore(row: RegionSummary, trial: Trial): LiveScore {
  const config = useSession((session) => session.config);
  const facts = useMemo(
    () => ({
      reference: row.caption,
      caption: trial.caption,
      given: row.mask,
      predicted: trial.mask,
      confidence: 1,
      truncated: false,
    }),
    [row, trial],
  );
  const { value, problem, busy } = useAsync(
    "score",
    async (_, signal) => {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      // A newer edit came first, so this score is dropped.
      if (signal.aborted) return null;
      const one = async (loop: LoopId, settings: typeof config): Promise<ScoredRollout> => {
        const plan = withoutJudge(rewardPlan(settings));
        const [scored] = await lab().reward.scoreGroup([{ ...facts, loop }], plan);
        if (scored === undefined) throw new LabError("internal", "A rollout got no score");
        return scored;
      };
      let custom: number | null = null;
      let customProblem: string | null = null;
      if (config.userReward.trim() !== "") {
        const [first = 1] = shownLoops(config);
        try {
          const { terms } = await one(first, { ...config, [weightKey(first, "user")]: 1 });
          custom = terms.find(({ name }) => name === "user")?.value ?? null;
        } catch (thrown) {
          customProblem = thrownText(thrown);
        }
      }
      if (customProblem !== null && hasWeight(config, "user")) return { loops: null, custom, customProblem };
      const scored = await Promise.all(LOOP_IDS.map((loop) => one(loop, config)));
      const loops = perLoop((loop) => scored[LOOP_IDS.indexOf(loop)] as ScoredRollout);
      return { loops, custom, customProblem };
    },
    [facts, config],
  );
  return useMemo(
    () => ({ loops: null, custom: null, customProblem: null, ...value, problem, busy }),
    [value, problem, busy],
  );
}

/** A row to try the reward on: the one that was edited, else the first. */
export default function TrialPanel(): ReactNode {
  const rows = useSession((session) => session.rows);
  const given = useTrials(({ trial }) => trial);
  // The next visit of the screen begins anew.
  useEffect(() => () => useTrials.setState({ trial: null }), []);
  const chosen = given === null ? undefined : rows.find((row) => isStoredRow(row, given));
  const row = chosen ?? rows[0];
  const first = useMemo(() => (row === undefined ? null : trialOf(row)), [row]);
  if (row === undefined || first === null) {
    return (
      <section className="p-4 surface framed round-l" aria-label="Try out">
        <p className="muted">Open shards to paint on their rows</p>
      </section>
    );
  }
  return <TryOut key={row.id} row={row} rows={rows} trial={chosen === undefined || given === null ? first : given} />;
}

/** One row with a hand-painted mask and a hand-written caption; shows the reward of each loop live. */
function TryOut(props: {
  readonly row: RegionSummary;
  readonly rows: readonly RegionSummary[];
  readonly trial: Trial;
}): ReactNode {
  const { row, rows, trial } = props;
  const score = useScore(row, trial);
  useEffect(() => {
    useTrials.setState({ score, row: rows.indexOf(row) + 1 });
    return () => useTrials.setState({ score: null, row: null });
  }, [score, row, rows]);
  const config = useSession((session) => session.config);
  const loops = shownLoops(config);
  const at = rows.indexOf(row);
  const [unknown, setUnknown] = useState(false);
  const show = (next: RegionSummary | undefined): void => {
    setUnknown(next === undefined);
    if (next !== undefined && next !== row) useTrials.setState({ trial: trialOf(next) });
  };
  const go = (by: number): void => show(rows[(at + by + rows.length) % rows.length]);
  const find = (text: string): void => show(rows.find(({ id }) => id === text) ?? rows[Number(text) - 1]);
  const paint = useCallback((mask: Rle): void => useTrials.setState({ trial: { ...trial, mask } }), [trial]);
  const terms = score.loops?.[1].terms ?? [];
  const meteor = terms.find((term) => term.meteor !== undefined)?.meteor;
  return (
    <div id={PLACE}>
      <Panel
        title="Try out"
        aside={
          <span className="inline-flex gap-1 align-centre muted small">
            <Button kind="quiet" icon={<IconBack size={14} />} aria-label="Previous row" onClick={() => go(-1)} />
            Row
            <TextInput
              className={styles.row ?? ""}
              aria-label="Row"
              aria-invalid={unknown}
              title={
                unknown ? `No row has this id, and the numbers are 1 to ${rows.length}` : `Number or id: ${row.id}`
              }
              data-testid="try-row"
              defaultValue={at + 1}
              onKeyDown={(event) => event.key === "Enter" && find(event.currentTarget.value.trim())}
              onBlur={(event) => find(event.currentTarget.value.trim())}
            />
            of {formatCount(rows.length)}
            <Button kind="quiet" icon={<IconChevron size={14} />} aria-label="Next row" onClick={() => go(1)} />
          </span>
        }
      >
        <MaskPainter
          rowId={row.id}
          given={row.mask}
          painted={trial.mask}
          onChange={paint}
          label={`Row ${at + 1}: given mask in blue, painted mask in green, IoU ${fixed(terms.find((term) => term.name === "iou")?.value, 2)}`}
        />
        <label className={`grid gap-1 mt-4 medium ${styles.caption}`}>
          Generated caption
          <textarea
            rows={2}
            data-testid="try-caption"
            value={trial.caption}
            onChange={(event) => useTrials.setState({ trial: { ...trial, caption: event.currentTarget.value } })}
          />
        </label>
        <p className={`muted mt-2 ${styles.reference}`}>
          <span>Reference</span> {row.caption}
        </p>
        {score.problem !== null && (
          <p className="mt-3 p-2-3 bad bad-soft round-m" role="alert" data-testid="try-problem">
            {score.problem}
          </p>
        )}
        {score.customProblem !== null && score.loops === null && (
          <p className="mt-3 muted">No reward: the custom reward fails, as its panel says</p>
        )}
        {score.loops !== null && (
          <div
            className={`grid mt-3 clip framed round-m ${styles.results}`}
            data-busy={score.busy}
            data-testid="try-results"
          >
            {loops.map((loop) => (
              <Line key={loop} loop={loop} score={score.loops?.[loop]} />
            ))}
          </div>
        )}
        {loops.some((loop) => config[`loop${loop}Confidence`] !== 0) && (
          <p className="mt-2 muted small">A painted mask has confidence 1</p>
        )}
        {config.judge !== "off" && <p className="mt-2 muted small">The judge is not called here; METEOR replaces it</p>}
        {terms.length > 0 && <Terms loops={loops} score={score.loops} />}
        {meteor !== undefined && (
          <div className="mt-4">
            <MeteorDetails detail={meteor} />
          </div>
        )}
      </Panel>
    </div>
  );
}

/** "IoU 0.62 · METEOR 0.31 → 0.64". */
function Line({ loop, score }: { readonly loop: LoopId; readonly score: ScoredRollout | undefined }): ReactNode {
  if (score === undefined) return null;
  const { rewarded } = splitTerms(score.terms);
  return (
    <p className={`grid gap-2 align-baseline p-2-3 surface ${styles.line}`} data-testid={`try-loop${loop}`}>
      <span>Loop {loop}</span>
      <span className="muted">
        {rewarded.length === 0
          ? "no term has a weight"
          : rewarded.map((term) => `${termName(term.name)} ${fixed(term.value, 2)}`).join(" · ")}
      </span>
      <b>{fixed(score.reward, 3)}</b>
    </p>
  );
}

function Terms(props: { readonly loops: readonly LoopId[]; readonly score: LiveScore["loops"] }): ReactNode {
  const { loops, score } = props;
  if (score === null) return null;
  return (
    <details className={`fold mt-3 ${styles.terms}`} open>
      <summary>All terms</summary>
      <table>
        <TableHead columns={["Term", "Value", ...loops.map((loop) => `Loop ${loop}`)]} />
        <tbody>
          {score[1].terms.map((term, at) => (
            <tr key={term.name}>
              <th scope="row">
                {termName(term.name)}
                {term.note !== undefined && <span className={`muted small ${styles.note}`}>{term.note}</span>}
              </th>
              <td>{fixed(term.value, 3)}</td>
              {loops.map((loop) => {
                const own = score[loop].terms[at];
                return (
                  <td key={loop}>{own === undefined || own.weight === 0 ? NONE : fixed(termContribution(own), 3)}</td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
