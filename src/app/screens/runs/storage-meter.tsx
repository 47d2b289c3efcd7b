import type { ReactNode } from "react";
import type { StoredRuns } from "../../../protocol/data.ts";
import { Button } from "../../components/ui/button.tsx";
import { counted, formatBytes } from "../../styles/format.ts";
import styles from "./runs.module.css";

/** Used browser storage, and the part that can be recomputed. */
export function StorageMeter(props: {
  readonly stored: Pick<StoredRuns, "usage" | "quota" | "features">;
  /** Whether a run, here or in another tab, is reading and adding features. */
  readonly running: boolean;
  readonly onDeleteFeatures: () => void;
}): ReactNode {
  const { usage, quota, features } = props.stored;
  const share = quota > 0 ? Math.min(1, usage / quota) : 0;
  return (
    <div className={`row wrap gap-3 muted ${styles.storage}`}>
      <span>
        {formatBytes(usage)} of {formatBytes(quota)} used
      </span>
      <meter aria-label="Storage used" min={0} max={1} low={0.8} high={0.95} optimum={0} value={share} />
      {features.pictures > 0 && (
        <>
          <span data-testid="kept-features">
            including {formatBytes(features.bytes)} for cached features of {counted(features.pictures, "picture")}
          </span>
          <Button
            data-testid="delete-features"
            blocker={props.running ? "The run in progress uses the features" : null}
            title="Deletes cached features; a run recomputes the features that it needs"
            onClick={props.onDeleteFeatures}
          >
            Delete features
          </Button>
        </>
      )}
    </div>
  );
}
