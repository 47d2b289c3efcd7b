import { type ReactNode, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Segmented } from "../../app/components/ui/controls.tsx";
import { Panel } from "../../app/components/ui/panel/panel.tsx";
import { TableHead } from "../../app/components/ui/table.tsx";
import { stopJob, useRunning } from "../../app/stores/jobs.ts";
import { useSession } from "../../app/stores/session.ts";
import { fixed } from "../../app/styles/format.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import { noise, pairsOf, spreads } from "./calibration.ts";
import { ScoreBar } from "./score-bar.tsx";
import { useJudgedRollouts } from "./use-judged-rollouts.ts";
import styles from "./workshop.module.css";
import { type Calibration, calibrateJudge, JUDGE_TEST, useTryBlocker, useWorkshop } from "./workshop.ts";

const ROUNDS = { "2": "2 times", "3": "3 times", "5": "5 times" };
const PAIRS = 10;

/** Scores the same captions several times: an inconsistent judge adds noise to every advantage. */
export function CalibrationPanel(): ReactNode {
  const { groups, unread } = useJudgedRollouts();
  const [rounds, setRounds] = useState<keyof typeof ROUNDS>("3");
  const rows = useSession((session) => session.rows);
  const busy = useRunning(JUDGE_TEST);
  const calibration = useWorkshop((state) => state.calibration);
  const stored = pairsOf(groups, PAIRS);
  const pairs = stored.length >= 2 ? stored : madeUp(rows, PAIRS);
  const blocker = useTryBlocker() ?? (pairs.length === 0 ? "Open some rows first" : null);
  return (
    <Panel
      title="Calibration"
      aside={
        busy === "calibration" ? (
          <Button onClick={() => stopJob(JUDGE_TEST)}>Stop</Button>
        ) : (
          <Button
            blocker={blocker}
            data-testid="judge-calibrate"
            onClick={() => report(calibrateJudge(pairs, Number(rounds)))}
          >
            Score {pairs.length} pairs
          </Button>
        )
      }
    >
      <p className="muted small">
        {stored.length >= 2
          ? "Captions of the open run"
          : "Captions of the open rows, paired with themselves, with a shortened and with another row's caption"}
        , each scored several times without the cache
      </p>
      {unread[0] !== undefined && (
        <p className="muted small">
          {unread[0]}
          {unread.length > 1 && `, and ${unread.length - 1} more`}
        </p>
      )}
      <div className="mt-2">
        <Segmented label="Repetitions per pair" options={ROUNDS} value={rounds} onChange={setRounds} />
      </div>
      {busy === "calibration" && (
        <p className="muted small" role="status">
          Waiting for the judge…
        </p>
      )}
      {calibration !== null && <Result calibration={calibration} />}
    </Panel>
  );
}

function Result({ calibration }: { readonly calibration: Calibration }): ReactNode {
  const all = spreads(calibration.rounds);
  const { within, between } = noise(all);
  const missing = all.reduce((sum, pair) => sum + pair.missing, 0);
  return (
    <div className="column-flex gap-2 mt-3" data-testid="calibration-result">
      <Facts
        entries={[
          ["Spread within a pair", fixed(within, 3)],
          ["Spread between pairs", fixed(between, 3)],
          ["No score", missing],
        ]}
      />
      <p className="muted small">
        {within === null || between === null
          ? "Too few scores"
          : within * 4 < between
            ? "The judge is consistent: differences between captions are larger than its noise"
            : "The judge is noisy: its noise is comparable to the differences between captions, so part of every advantage is random"}
      </p>
      <table className={`full-width ${styles.table}`}>
        <TableHead columns={["Prediction", "Range −1 … 1", "Mean", "Std"]} />
        <tbody>
          {calibration.pairs.map((pair, at) => {
            const spread = all[at];
            return (
              <tr key={JSON.stringify(pair)}>
                <th scope="row" title={pair.reference}>
                  {pair.hypothesis.length > 90 ? `${pair.hypothesis.slice(0, 90)} …` : pair.hypothesis}
                </th>
                <td>
                  <Range values={spread?.values ?? []} />
                </td>
                <td>{spread?.mean === null ? "missing" : fixed(spread?.mean, 2)}</td>
                <td>{fixed(spread?.std, 3)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** From the lowest score to the highest. */
function Range({ values }: { readonly values: readonly number[] }): ReactNode {
  if (values.length === 0) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return <ScoreBar from={low} to={high} label={`${fixed(low, 2)} to ${fixed(high, 2)}`} />;
}

/** Without a run: captions with a known order. */
function madeUp(rows: readonly RegionSummary[], most: number): CaptionPair[] {
  const captions = [...new Set(rows.slice(0, 200).map((row) => row.caption))].filter((text) => text.trim() !== "");
  const pairs: CaptionPair[] = [];
  for (let n = 0; n < captions.length && pairs.length < most; n++) {
    const reference = captions[n] as string;
    const words = reference.split(/\s+/);
    const half = words.slice(0, Math.ceil(words.length / 2)).join(" ");
    const hypothesis = [reference, half, captions[(n + 1) % captions.length] as string][n % 3] as string;
    pairs.push({ reference, hypothesis });
  }
  return pairs;
}

/** Numbers with their names, side by side. */
export function Facts({ entries }: { readonly entries: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className="flex wrap gap-2-4 mt-2">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt className="muted small">{name}</dt>
          <dd className="large bold">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
