import { type PointerEvent, type ReactNode, useState } from "react";
import type { MaskLayer } from "../../app/components/mask/layers.ts";
import { MaskFigure } from "../../app/components/mask/mask-figure.tsx";
import type { Box, TrialPicture } from "./regions.ts";
import styles from "./try-out.module.css";

/** The picture with its layers; dragging marks a box if `onBox` is given. */
export function BoxCanvas(props: {
  readonly picture: TrialPicture;
  readonly layers: readonly MaskLayer[];
  readonly label: string;
  readonly onBox: ((box: Box) => void) | null;
}): ReactNode {
  const { picture, layers, label, onBox } = props;
  const [drag, setDrag] = useState<readonly [number, number, number, number] | null>(null);

  /** Place of a pointer in picture pixels; the picture lies centred in its frame. */
  const place = (event: PointerEvent<HTMLDivElement>): readonly [number, number] => {
    const frame = event.currentTarget.getBoundingClientRect();
    const scale = Math.min(frame.width / picture.width, frame.height / picture.height);
    const x = (event.clientX - frame.left - (frame.width - scale * picture.width) / 2) / scale;
    const y = (event.clientY - frame.top - (frame.height - scale * picture.height) / 2) / scale;
    return [Math.min(Math.max(x, 0), picture.width), Math.min(Math.max(y, 0), picture.height)];
  };
  const finish = (): void => {
    if (drag === null) return;
    setDrag(null);
    const [x0, y0, x1, y1] = drag;
    const box: Box = [Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0)];
    // A click without a drag makes no box.
    if (box[2] >= 2 && box[3] >= 2) onBox?.(box);
  };
  return (
    <div className="relative">
      <MaskFigure
        strip
        rowId={picture.id}
        width={picture.width}
        height={picture.height}
        layers={layers}
        label={label}
        className={styles.figure ?? ""}
      />
      {onBox !== null && (
        <div
          className={`absolute ${styles.drawing}`}
          data-testid="try-draw"
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            const [x, y] = place(event);
            setDrag([x, y, x, y]);
          }}
          onPointerMove={(event) => {
            if (drag === null) return;
            const [x, y] = place(event);
            setDrag([drag[0], drag[1], x, y]);
          }}
          onPointerUp={finish}
          onPointerCancel={() => setDrag(null)}
        >
          {drag !== null && (
            <svg viewBox={`0 0 ${picture.width} ${picture.height}`} aria-hidden="true">
              <rect
                x={Math.min(drag[0], drag[2])}
                y={Math.min(drag[1], drag[3])}
                width={Math.abs(drag[2] - drag[0])}
                height={Math.abs(drag[3] - drag[1])}
              />
            </svg>
          )}
        </div>
      )}
    </div>
  );
}
