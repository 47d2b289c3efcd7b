import type { ReactNode } from "react";
import { type OverlayMode, useOverlay } from "../../components/mask/overlay-store.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Slider } from "../../components/ui/controls.tsx";
import { IconEye } from "../../components/ui/icons.tsx";
import styles from "./overlay-controls.module.css";

const MODES = [
  { value: "contour", label: "Contour" },
  { value: "fill", label: "Fill" },
  { value: "off", label: "Off" },
] as const satisfies readonly { readonly value: OverlayMode; readonly label: string }[];

/** How masks are drawn over pictures, on this screen and all others. */
export function OverlayControls(): ReactNode {
  const { mode, opacity, setMode, setOpacity, setHidden } = useOverlay();
  const percent = Math.round(opacity * 100);
  return (
    <div className="row gap-3">
      <span className="muted">Masks</span>
      <Segmented label="Masks" options={MODES} value={mode} onChange={setMode} />
      <span className={`inline-flex gap-2 align-centre ${styles.opacity}`}>
        <Slider
          label="Mask opacity"
          value={percent}
          min={0}
          max={100}
          step={5}
          valueText={`${percent} %`}
          onChange={(value) => setOpacity(value / 100)}
        />
        <span>{percent} %</span>
      </span>
      <Button
        kind="quiet"
        icon={<IconEye />}
        title="Hold to hide masks (H)"
        onPointerDown={() => setHidden(true)}
        onPointerUp={() => setHidden(false)}
        onPointerLeave={() => setHidden(false)}
        onKeyDown={(event) => {
          if (event.key === " " || event.key === "Enter") setHidden(true);
        }}
        onKeyUp={() => setHidden(false)}
        onBlur={() => setHidden(false)}
      >
        Hold to hide
      </Button>
    </div>
  );
}
