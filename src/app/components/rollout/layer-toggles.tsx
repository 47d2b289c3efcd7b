import type { ReactNode } from "react";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { LAYER_COLOURS } from "../mask/layers.ts";
import styles from "./details.module.css";
import { answerRole, LAYER_KEYS, type LayerKey, layerName } from "./rollout-view.ts";

/** Switches of the mask layers, each with its number key and colour. */
export function LayerToggles(props: {
  readonly rollout: RolloutRecord;
  readonly layers: ReadonlySet<LayerKey>;
  readonly onToggle: (layer: LayerKey) => void;
}): ReactNode {
  const { rollout, layers, onToggle } = props;
  const missing: Readonly<Record<LayerKey, boolean>> = {
    given: false,
    answer: rollout.predictedMask === null,
    difference: rollout.predictedMask === null,
    greedy: rollout.greedyMask === null,
  };
  return (
    <div className="row wrap gap-2 mt-3">
      {LAYER_KEYS.map((key, at) =>
        (key === "greedy" && missing.greedy) || (key !== "given" && aboutLoop(rollout.loop).mask === null) ? null : (
          <button
            key={key}
            type="button"
            className={`inline-flex align-centre muted framed round-m clear pointer ${styles.layer}`}
            aria-pressed={layers.has(key)}
            disabled={missing[key]}
            onClick={() => onToggle(key)}
          >
            <kbd>{at + 1}</kbd>
            <i className={styles.swatch} data-layer={key} data-fill style={{ background: swatch(key, rollout) }} />
            {layerName(key, rollout.loop)}
          </button>
        ),
      )}
    </div>
  );
}

function swatch(key: LayerKey, rollout: RolloutRecord): string | undefined {
  if (key === "given") return LAYER_COLOURS.given;
  if (key === "answer") return LAYER_COLOURS[answerRole(rollout.loop)];
  return key === "greedy" ? LAYER_COLOURS.partner : undefined;
}
