import type { ReactNode } from "react";
import { percent } from "../../styles/format.ts";
import { type OverlayMode, useOverlay } from "../mask/overlay-store.ts";
import { Segmented, Slider } from "../ui/controls.tsx";
import styles from "./rollout.module.css";

const MODES: Readonly<Record<OverlayMode, string>> = { contour: "Contour", fill: "Fill", off: "Off" };

/** How masks are drawn over pictures; one setting for grids and detail views. */
export function OverlayControls(): ReactNode {
  const { mode, opacity, setMode, setOpacity } = useOverlay();
  return (
    <div className="row wrap gap-2">
      <Segmented label="Masks" options={MODES} value={mode} onChange={setMode} />
      <div
        className={`grid gap-2 align-centre muted small ${styles.slider}`}
        title="Opacity of fills and of the dimmed surround, keys [ and ]"
      >
        <Slider
          label="Mask opacity"
          value={opacity}
          min={0}
          max={1}
          step={0.05}
          valueText={percent(opacity)}
          onChange={setOpacity}
        />
        <span>{percent(opacity)}</span>
      </div>
    </div>
  );
}
