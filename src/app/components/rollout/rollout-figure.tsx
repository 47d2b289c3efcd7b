import { type ReactNode, useMemo } from "react";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { MaskFigure, type MaskFigureProps } from "../mask/mask-figure.tsx";
import { differencePair, figureLabel, type LayerKey, layersOf } from "./rollout-view.ts";

/** The picture of a rollout with the chosen masks. */
export function RolloutFigure(
  props: Pick<MaskFigureProps, "sync" | "onPress" | "className"> & {
    readonly rollout: RolloutRecord;
    readonly layers: ReadonlySet<LayerKey>;
  },
): ReactNode {
  const { rollout, layers, ...rest } = props;
  const [height, width] = rollout.givenMask.size;
  const shown = useMemo(() => layersOf(rollout, layers), [rollout, layers]);
  const difference = useMemo(() => differencePair(rollout, layers), [rollout, layers]);
  return (
    <MaskFigure
      {...rest}
      rowId={rollout.rowId}
      imageId={rollout.imageId}
      frames={rollout.frames}
      width={width}
      height={height}
      layers={shown}
      difference={difference}
      label={figureLabel(rollout)}
    />
  );
}
