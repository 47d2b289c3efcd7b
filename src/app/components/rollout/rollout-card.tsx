import { type CSSProperties, memo, type ReactNode, useMemo } from "react";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { fixed, signed } from "../../styles/format.ts";
import { MaskFigure, type MaskFigureProps } from "../mask/mask-figure.tsx";
import { Badge } from "../ui/button.tsx";
import styles from "./rollout.module.css";
import {
  differencePair,
  figureLabel,
  type LayerKey,
  layersOf,
  rewardName,
  splitTerms,
  termName,
} from "./rollout-view.ts";

interface RolloutCardProps {
  readonly rollout: RolloutRecord;
  readonly layers: ReadonlySet<LayerKey>;
  /** Largest |advantage| of the group, so that its bars are comparable; 0 before it has advantages. */
  readonly scale: number;
  readonly selected?: boolean;
  /** Figures with the same name zoom together. */
  readonly sync?: string;
  /** The same function at each render, so that only a changed card is drawn again. */
  readonly onOpen: (rollout: RolloutRecord) => void;
}

/** One rollout: picture with masks, caption, reward. */
export const RolloutCard = memo(function RolloutCard(props: RolloutCardProps): ReactNode {
  const { rollout, layers, scale, selected = false, sync, onOpen } = props;
  const scored = rollout.reward !== null || rollout.terms.length > 0;
  const noMask = scored && rollout.predictedMask === null && aboutLoop(rollout.loop).mask !== null;
  return (
    <article
      className={`column-flex min-0 clip framed round-m surface ${styles.card}`}
      data-testid="rollout-card"
      data-selected={selected}
    >
      <RolloutFigure
        className={styles.figure ?? ""}
        rollout={rollout}
        layers={layers}
        onPress={() => onOpen(rollout)}
        {...(sync === undefined ? {} : { sync })}
      />
      <button
        type="button"
        className={`column-flex grow full-width text-left pointer borderless clear lit ${styles.open}`}
        aria-current={selected}
        onClick={() => onOpen(rollout)}
      >
        <span className="flex gap-2 align-baseline">
          <span className="muted small">#{rollout.index + 1}</span>
          <span className="flex gap-1 grow min-0 clip">
            {rollout.truncated && <Badge tone="warn">truncated</Badge>}
            {noMask && <Badge tone="warn">no mask</Badge>}
          </span>
          <strong className={`bold ${styles.reward}`} title={rewardName(rollout)}>
            {fixed(rollout.reward, 2)}
          </strong>
        </span>
        <CardText rollout={rollout} />
      </button>
      <div className={styles.cardFoot}>
        <ul className={`flex wrap m-0 muted small p-0 no-bullets ${styles.terms}`}>
          {splitTerms(rollout.terms).rewarded.map((term) => (
            <li key={term.name} title={term.note}>
              {termName(term.name)} <b>{fixed(term.value, 2)}</b>
            </li>
          ))}
        </ul>
        <AdvantageBar value={scored && scale > 0 ? rollout.advantage : null} scale={scale} />
      </div>
    </article>
  );
});

/** The rewarded text with its name. */
function CardText({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  const text = generatedText(rollout.loop, rollout);
  const name = aboutLoop(rollout.loop).textName;
  return (
    <span className={`clip relative ${styles.said}`}>
      <span className="muted tiny">{name}</span>{" "}
      {text === null ? "–" : text.trim() === "" ? <em className="muted">empty</em> : text}
    </span>
  );
}

/** The picture of a rollout with the chosen masks. */
export function RolloutFigure(
  props: Pick<MaskFigureProps, "sync" | "onPress" | "className"> & {
    readonly rollout: RolloutRecord;
    readonly layers: ReadonlySet<LayerKey>;
  },
): ReactNode {
  const { rollout, layers, ...rest } = props;
  const [height, width] = rollout.givenMask.size;
  const shown = useMemo(() => layersOf(rollout, layers), [rollout, layers]);
  const difference = useMemo(() => differencePair(rollout, layers), [rollout, layers]);
  return (
    <MaskFigure
      {...rest}
      rowId={rollout.rowId}
      imageId={rollout.imageId}
      frames={rollout.frames}
      width={width}
      height={height}
      layers={shown}
      difference={difference}
      label={figureLabel(rollout)}
    />
  );
}

/**
 * A bar from the centre: right and blue for a positive advantage, left and orange for a negative one.
 * @param props.value null before it is computed
 */
export function AdvantageBar(props: { readonly value: number | null; readonly scale: number }): ReactNode {
  const { scale } = props;
  const value = props.value ?? 0;
  const share = Math.min(1, Math.abs(value) / Math.max(scale, 1e-9));
  const style: CSSProperties =
    value >= 0 ? { left: "50%", width: `${share * 50}%` } : { right: "50%", width: `${share * 50}%` };
  return (
    <div
      className={`grid gap-2 align-centre small ${styles.advantage}`}
      title="Advantage: reward relative to its group"
    >
      <span className="muted">adv</span>
      <span className={`relative ${styles.track}`} aria-hidden="true">
        <span className={value >= 0 ? styles.above : styles.below} data-fill style={style} />
      </span>
      <span className="text-right">{signed(props.value, 2)}</span>
    </div>
  );
}
