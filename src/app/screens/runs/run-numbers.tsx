import type { ReactNode } from "react";
import { activeLoops } from "../../../engine/config/derived.ts";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { fewPicturesText } from "../../../engine/runs/evaluations/difference-text.ts";
import { lackingText, type ScoreId } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import { gainsOf } from "../../../engine/runs/evaluations/gains.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Sparkline } from "../../components/charts/sparkline.tsx";
import { GainNumbers } from "../../components/gain-numbers.tsx";
import { loopStyle } from "../../components/rollout/loop-colour.ts";
import { linkTo } from "../../stores/route.ts";
import { fixed, NONE } from "../../styles/format.ts";
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

/** Changes of the held-out scores since the start, greedy first, with 95 % intervals. */
export function RunGains({ run }: { readonly run: RunDigest }): ReactNode {
  const { gains, manifest, evaluated } = run;
  const loops = manifest.config.mode === "sft" ? [] : activeLoops(manifest.config);
  const shown = gainsOf(
    gains.map(({ score }) => score),
    loops,
  );
  if (shown.length === 0) return NONE;
  const found = (id: ScoreId) => gains.find(({ score }) => score === id);
  const pictures = gains[0]?.pictures ?? 0;
  const few = fewPicturesText(pictures);
  return (
    <a
      className={`grid gap-1 ${styles.gains}`}
      href={linkTo({ screen: "train", tab: "held-out", run: manifest.id, step: evaluated.at(-1) ?? null })}
      title="Rows behind these numbers"
    >
      {shown.map((gain) => (
        <span key={gain.name} className="grid">
          <span className="muted small">{gain.name}</span>
          <GainNumbers
            className="grid"
            gain={gain}
            of={(id) => found(id) ?? null}
            pictures={pictures}
            note={(id) => {
              const own = found(id);
              return own !== undefined && own.rows < own.of && ` ${lackingText(own.rows, own.of)}`;
            }}
          />
        </span>
      ))}
      {few !== "" && <small className="warn">{few}</small>}
    </a>
  );
}
