import type { ReactNode } from "react";
import { navigate, useRoute } from "../../stores/route.ts";
import { Slider } from "../ui/controls.tsx";
import styles from "./smoothing-control.module.css";

/** Smoothing weight of all curves, stored in the address. */
export function SmoothingControl(): ReactNode {
  const smooth = useRoute((route) => route.smooth);
  return (
    <div className={`grid gap-2 align-centre muted small ${styles.smoothing}`}>
      <span>Smoothing</span>
      <Slider
        label="Smoothing of curves"
        value={smooth}
        min={0}
        max={0.99}
        step={0.01}
        valueText={smooth.toFixed(2)}
        onChange={(value) => navigate({ smooth: value })}
      />
      <b>{smooth.toFixed(2)}</b>
    </div>
  );
}
