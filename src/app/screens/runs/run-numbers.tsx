import type { ReactNode } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { fewPicturesText, meanText, rangeText, verdict } from "../../../engine/runs/evaluations/difference-text.ts";
import { lackingText, type ScoreId } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Sparkline } from "../../components/charts/sparkline.tsx";
import { loopStyle } from "../../components/rollout/loop-colour.ts";
import { linkTo } from "../../stores/route.ts";
import { fixed, NONE } from "../../styles/format.ts";
import { evalTexts } from "../eval/eval-metrics.ts";
import { SAMPLED_REWARD } from "../eval/score-card.tsx";
import styles from "./runs.module.css";

/** Each loop's reward over the steps, and its mean over the last ten. */
export function RunRewards({ run }: { readonly run: RunDigest }): ReactNode {
  const { rewards, curve } = run;
  const loops = LOOP_IDS.filter((loop) => rewards[loop] !== undefined);
  if (loops.length === 0) return NONE;
  return (
    <ul className={`no-bullets m-0 p-0 grid gap-1 ${styles.curves}`}>
      {loops.map((loop) => (
        <li
          key={loop}
          className="row gap-2"
          style={loopStyle(loop)}
          title={`Loop ${loop}: mean reward of the last ten steps`}
        >
          <span className="muted small">{loop}</span>
          <Sparkline
            className={styles.curve ?? ""}
            name={`Reward of loop ${loop}`}
            values={curve.map((point) => point[loop] ?? Number.NaN)}
          />
          <b className="medium">{fixed(rewards[loop], 3)}</b>
        </li>
      ))}
    </ul>
  );
}

/** Scores of a run without rewards. */
const SUPERVISED: Readonly<Partial<Record<ScoreId, string>>> = { grounding_iou: "IoU", caption_meteor: "METEOR" };

/** Change of the held-out rewards since the start, with 95 % intervals. A run without rewards has two other scores. */
export function RunGains({ run }: { readonly run: RunDigest }): ReactNode {
  const { gains, manifest, evaluated } = run;
  const rewards = gains.filter(({ score }) => SAMPLED_REWARD.test(score));
  const shown = rewards.length > 0 ? rewards : gains.filter(({ score }) => score in SUPERVISED);
  if (shown.length === 0) return NONE;
  const few = fewPicturesText(shown[0]?.pictures ?? 0);
  const titles = new Map(evalTexts({ maskPolicy: manifest.config.maskPolicy }).map(({ id, title }) => [id, title]));
  return (
    <a
      className={`grid gap-1 ${styles.gains}`}
      href={linkTo({ screen: "eval", run: manifest.id, step: evaluated.at(-1) ?? null })}
      title="Rows behind these numbers"
    >
      {shown.map(({ score, rows, of, ...difference }) => (
        <span key={score} title={`${titles.get(score) ?? score} of ${rows} rows`}>
          <span className="muted small">{SAMPLED_REWARD.exec(score)?.[1] ?? SUPERVISED[score]}</span>{" "}
          <b data-verdict={verdict(difference)}>{meanText(difference)}</b> <small>{rangeText(difference)}</small>
          {rows < of && <small className="muted"> {lackingText(rows, of)}</small>}
        </span>
      ))}
      {few !== "" && <small className="warn">{few}</small>}
    </a>
  );
}
