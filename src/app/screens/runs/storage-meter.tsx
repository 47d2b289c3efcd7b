import type { ReactNode } from "react";
import { bytes } from "../../components/charts/format.ts";
import styles from "./runs.module.css";

/** How much of the browser's storage is used. */
export function StorageMeter({ usage, quota }: { readonly usage: number; readonly quota: number }): ReactNode {
  const share = quota > 0 ? Math.min(1, usage / quota) : 0;
  return (
    <div className={styles.storage}>
      <span>
        {bytes(usage)} of {bytes(quota)} used
      </span>
      <meter aria-label="Storage used" min={0} max={1} low={0.8} high={0.95} optimum={0} value={share} />
    </div>
  );
}
