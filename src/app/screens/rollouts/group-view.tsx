import { type CSSProperties, type ReactNode, useMemo } from "react";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { ClipPlayer } from "../../components/clip/clip-player.tsx";
import { advantageScale, GroupTitle } from "../../components/rollout/group-title.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { RolloutCard } from "../../components/rollout/rollout-card.tsx";
import {
  answerRole,
  groupTracks,
  type LayerKey,
  passes,
  type RolloutFilter,
  type SortBy,
} from "../../components/rollout/rollout-view.ts";
import { Segmented } from "../../components/ui/controls.tsx";
import styles from "./rollouts.module.css";

const SORTS: Readonly<Record<SortBy, string>> = { reward: "Best first", index: "As sampled" };

/** The rollouts of one prompt side by side. */
export function GroupView(props: {
  readonly group: GroupRecord;
  /** In the order shown. */
  readonly rollouts: readonly RolloutRecord[];
  readonly selected: RolloutRecord;
  readonly filter: RolloutFilter;
  readonly layers: ReadonlySet<LayerKey>;
  readonly sort: SortBy;
  readonly onSort: (sort: SortBy) => void;
  readonly sync: string;
  readonly onOpen: (rollout: RolloutRecord) => void;
  /** The selected rollout, beside the others. */
  readonly children: ReactNode;
}): ReactNode {
  const { group, rollouts, selected, filter, layers, sort, onSort, sync, onOpen } = props;
  const scale = advantageScale(group);
  const faded = useMemo(() => new Set(rollouts.filter((rollout) => !passes(rollout, filter))), [rollouts, filter]);
  const tracks = useMemo(() => groupTracks(rollouts, selected), [rollouts, selected]);
  return (
    <section className={`min-0 framed round-l surface ${styles.group}`} aria-label={`Group of step ${group.step}`}>
      <GroupTitle group={group} />
      <div className={`row wrap gap-2-4 between ${styles.groupTools}`}>
        <OverlayControls />
        <Segmented label="Order" options={SORTS} value={sort} onChange={onSort} />
      </div>
      <ClipPlayer
        rowId={selected.rowId}
        imageId={selected.imageId}
        frames={selected.frames}
        given={selected.givenMask}
        tracks={tracks}
        role={answerRole(group.loop)}
        fileName={`step-${group.step}-loop-${group.loop}-group-${group.group}`}
      />
      <div className={`grid ${styles.pair}`}>
        <div className={`grid gap-3 ${styles.tiles}`} style={{ "--n": rollouts.length } as CSSProperties}>
          {rollouts.map((rollout) => (
            <div key={rollout.id} data-faded={faded.has(rollout)}>
              <RolloutCard
                rollout={rollout}
                layers={layers}
                scale={scale}
                selected={rollout === selected}
                small
                sync={sync}
                onOpen={() => onOpen(rollout)}
              />
            </div>
          ))}
        </div>
        {props.children}
      </div>
    </section>
  );
}
