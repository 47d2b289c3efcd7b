import type { CSSProperties, ReactNode } from "react";
import { signed } from "../../../styles/format.ts";
import styles from "../rollout.module.css";

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
    <div className={`grid align-centre small ${styles.advantage}`} title="Advantage: reward relative to its group">
      <span className="muted">adv</span>
      <span className={`relative ${styles.track}`} aria-hidden="true">
        <span className={value >= 0 ? styles.above : styles.below} data-fill style={style} />
      </span>
      <span className="text-right">{signed(props.value, 2)}</span>
    </div>
  );
}
