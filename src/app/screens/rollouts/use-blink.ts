import { useEffect, useMemo, useState } from "react";
import type { LayerKey } from "../../components/rollout/rollout-view.ts";

/** Milliseconds per layer: fewer than two changes a second, safe for photosensitive users. */
const BLINK_MS = 650;

/** Alternates between given mask and answer while on, else null. */
export function useBlink(on: boolean): ReadonlySet<LayerKey> | null {
  const [shown, setShown] = useState<LayerKey>("given");
  useEffect(() => {
    if (!on) return;
    const timer = window.setInterval(() => setShown((now) => (now === "given" ? "answer" : "given")), BLINK_MS);
    return () => window.clearInterval(timer);
  }, [on]);
  return useMemo(() => (on ? new Set([shown]) : null), [on, shown]);
}
