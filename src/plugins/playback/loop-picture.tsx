import { type CSSProperties, Fragment, type ReactNode, useMemo } from "react";
import { NOISE_NOTE } from "../../app/components/rollout/group-title.tsx";
import { RolloutFigure } from "../../app/components/rollout/rollout-card.tsx";
import { type LayerKey, rewardName, rewardSum, sortRollouts } from "../../app/components/rollout/rollout-view.ts";
import { groupKey } from "../../app/components/rollout/use-viewed-run.ts";
import { CopyPanel } from "../../app/components/ui/panel/panel.tsx";
import { navigate } from "../../app/stores/route.ts";
import { fixed, NONE } from "../../app/styles/format.ts";
import { aboutLoop } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { generatedText, noisyMask } from "../../engine/runs/rollouts/rollout-facts.ts";
import styles from "./playback.module.css";

const GIVEN: ReadonlySet<LayerKey> = new Set(["given"]);
/** The answer, and the sampled mask where noise made it another one. */
const ANSWER: ReadonlySet<LayerKey> = new Set(["answer", "sampled"]);

/** One loop on a real row: the input, the policy's answer, the partner's answer to that, and the reward. */
export function LoopPicture({
  group,
  runId,
}: {
  readonly group: GroupRecord;
  /** The run in the address; null for the default run. */
  readonly runId: string | null;
}): ReactNode {
  const rollouts = useMemo(() => sortRollouts(group.rollouts, "reward"), [group]);
  const best = rollouts[0];
  if (best === undefined) return null;
  const { samples, arrow } = aboutLoop(group.loop);
  const text = samples === "text";
  const open = (rollout: RolloutRecord): void =>
    navigate({
      screen: "train",
      tab: "rollouts",
      run: runId,
      step: group.step,
      group: groupKey(group),
      rollout: rollout.id,
    });
  const picture = (layers: ReadonlySet<LayerKey>): ReactNode => (
    <RolloutFigure className={styles.figure ?? ""} rollout={best} layers={layers} onPress={() => open(best)} />
  );
  const stages: readonly (readonly [name: string, content: ReactNode])[] = text
    ? [
        ["Given mask", picture(GIVEN)],
        ["The policy's caption", <Said key="caption" text={best.caption} />],
        ["What the partner finds", picture(ANSWER)],
      ]
    : [
        ["Given caption", <Said key="caption" text={best.caption} />],
        [
          "The policy's mask",
          <Fragment key="mask">
            {picture(ANSWER)}
            <span className={`muted small ${styles.note}`} data-noisy={noisyMask(best) !== null}>
              {NOISE_NOTE}
            </span>
          </Fragment>,
        ],
        ["What the partner calls it", <Said key="called" text={best.captionPrime} />],
      ];
  return (
    <article className="grid gap-2 p-4 surface round-l" data-testid={`home-loop-${group.loop}`} key={best.id}>
      <span className="row gap-1">
        <h2>
          {text ? "Name it" : "Find it"} <span className="muted normal">{arrow}</span>
        </h2>
        <CopyPanel name={`loop ${group.loop}`} />
      </span>
      <ol className={`grid m-0 p-0 no-bullets ${styles.stages}`}>
        {stages.map(([name, content], step) => (
          <Stage key={name} name={name} step={step}>
            {content}
          </Stage>
        ))}
        <Stage name={`Reward, best of ${rollouts.length}`} step={3}>
          <button
            type="button"
            className={`p-0 bold text-left pointer clear borderless ${styles.reward}`}
            title={rewardName(best)}
            onClick={() => open(best)}
          >
            {fixed(best.reward, 2)}
          </button>
          <span className={`muted small clip ${styles.sum}`}>{rewardSum(best.terms)}</span>
          <RewardBars rollouts={rollouts} onOpen={open} />
        </Stage>
      </ol>
    </article>
  );
}

function Stage(props: { readonly name: string; readonly step: number; readonly children: ReactNode }): ReactNode {
  return (
    <li className={`relative grid gap-2 min-0 ${styles.stage}`} style={{ "--after": props.step } as CSSProperties}>
      <span className="muted small">{props.name}</span>
      {props.children}
    </li>
  );
}

function Said({ text }: { readonly text: string | null }): ReactNode {
  return (
    <blockquote className={`grid m-0 p-3 large anywhere surface-2 round-m ${styles.said}`}>
      {text?.trim() === "" ? <em>empty</em> : (text ?? NONE)}
    </blockquote>
  );
}

/** Rewards of the group, best first; a bar opens its rollout. */
function RewardBars(props: {
  readonly rollouts: readonly RolloutRecord[];
  readonly onOpen: (rollout: RolloutRecord) => void;
}): ReactNode {
  const most = Math.max(1, ...props.rollouts.map(({ reward }) => reward ?? 0));
  return (
    <ul className={`flex m-0 p-0 no-bullets ${styles.bars}`}>
      {props.rollouts.map((rollout) => (
        <li key={rollout.id}>
          <button
            type="button"
            className="flex full-width p-0 surface-2 borderless round-s pointer"
            aria-label={`Open rollout ${rollout.index + 1}, reward ${fixed(rollout.reward, 2)}`}
            title={`${fixed(rollout.reward, 2)}: ${generatedText(rollout.loop, rollout) ?? NONE}`}
            onClick={() => props.onOpen(rollout)}
          >
            <span
              className="block full-width"
              data-fill
              style={{ height: `${(100 * Math.max(0, rollout.reward ?? 0)) / most}%` }}
            />
          </button>
        </li>
      ))}
    </ul>
  );
}
