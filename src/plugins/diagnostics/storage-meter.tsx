import type { ReactNode } from "react";
import { lab, report } from "../../app/clients/lab.ts";
import { RUNS } from "../../app/clients/run/run-reads.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { outdate, useRead } from "../../app/stores/reads.ts";
import { useOtherTabs } from "../../app/stores/run/other-tabs.ts";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { counted, formatBytes } from "../../app/styles/format.ts";
import styles from "./page-panels.module.css";

/** Used browser storage, and the part that can be recomputed. */
export default function StorageMeter(): ReactNode {
  const training = useRun(({ state }) => isActive(state));
  // A run, here or in another tab, reads and adds features.
  const running = useOtherTabs().length > 0 || training;
  const { stored } = useRead(RUNS).last ?? {};
  if (stored === undefined) return null;
  const { usage, quota, features } = stored;
  const remove = (): Promise<unknown> =>
    lab()
      .data.deleteFeatures()
      .finally(() => outdate(RUNS.key));
  return (
    <div className={`row wrap gap-3 muted ${styles.storage}`}>
      <span>
        {formatBytes(usage)} of {formatBytes(quota)} used
      </span>
      <StorageBar share={quota > 0 ? Math.min(1, usage / quota) : 0} />
      {features.pictures > 0 && (
        <>
          <span data-testid="kept-features">
            including {formatBytes(features.bytes)} for cached features of {counted(features.pictures, "picture")}
          </span>
          <Button
            data-testid="delete-features"
            blocker={running ? "The run in progress uses the features" : null}
            title="Deletes cached features; a run recomputes the features that it needs"
            onClick={() => report(remove())}
          >
            Delete features
          </Button>
        </>
      )}
    </div>
  );
}

/** Used share of the browser's storage, 0 to 1. */
export function StorageBar(props: { readonly share: number; readonly className?: string }): ReactNode {
  const { share, className } = props;
  return (
    <meter
      className={className}
      aria-label="Storage used"
      min={0}
      max={1}
      low={0.8}
      high={0.95}
      optimum={0}
      value={share}
    />
  );
}
