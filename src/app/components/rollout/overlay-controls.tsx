import type { ReactNode } from "react";
import { percent } from "../../styles/format.ts";
import { type OverlayMode, useOverlay } from "../mask/overlay-store.ts";
import { Segmented, Slider } from "../ui/controls.tsx";
import styles from "./details.module.css";

const MODES: Readonly<Record<OverlayMode, string>> = { contour: "Contour", fill: "Fill", off: "Off" };

/** How masks are drawn over pictures; one setting for grids and detail views. */
export function OverlayControls(): ReactNode {
  const { mode, opacity, hidden, setMode, setOpacity, setHidden } = useOverlay();
  return (
    <div className={`row wrap gap-2 ${styles.overlay}`}>
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
      <button
        type="button"
        className={`inline-flex align-centre muted framed round-m clear pointer ${styles.toggle}`}
        aria-pressed={hidden}
        title="Hides all masks while it is held"
        onPointerDown={() => setHidden(true)}
        onPointerUp={() => setHidden(false)}
        onPointerLeave={() => setHidden(false)}
        onKeyDown={(event) => (event.key === " " || event.key === "Enter") && setHidden(true)}
        onKeyUp={() => setHidden(false)}
        onBlur={() => setHidden(false)}
      >
        Hold to hide <kbd>H</kbd>
      </button>
    </div>
  );
}
