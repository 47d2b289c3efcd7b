import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";
import type { Rle } from "../../../engine/data/mask/rle.ts";
import { isTooLarge, loadPicture, pictureSide } from "../../stores/picture-cache.ts";
import { useSession } from "../../stores/session.ts";
import { cancelDraw, drawSoon } from "../in-parts.tsx";
import { useAsync, useVisibleBox } from "../use-async.ts";
import { drawFigure } from "./draw.ts";
import { useClipFrame, useClips } from "./frame-store.ts";
import type { MaskLayer } from "./layers.ts";
import styles from "./mask-figure.module.css";
import { useOverlay } from "./overlay-store.ts";
import { useGestures, useViews, viewKey, WHOLE } from "./use-gestures.ts";

export interface MaskFigureProps {
  /** Row whose picture is drawn below the masks; null for no picture. */
  readonly rowId: string | null;
  /** Picture id of the row in the stored run; the figure shows a notice when the open row has another picture. */
  readonly imageId?: string;
  /** Size of the picture in pixels. */
  readonly width: number;
  readonly height: number;
  /** Frames of a clip as the run recorded them. */
  readonly frames?: number | undefined;
  /** Shows all frames of a clip below each other, for painting; else the frame that its row shows. */
  readonly strip?: boolean;
  readonly layers: readonly MaskLayer[];
  /** Shows hit, missed and extra pixels of the second mask against the first instead of the layers. */
  readonly difference?: readonly [Rle, Rle] | null;
  /** Accessible name, such as "rollout 3, IoU 0.81, mask covers 12 % of the picture". */
  readonly label: string;
  /** "contain" keeps the picture's shape; "cover" fills the box that the caller's CSS gives. */
  readonly fit?: "contain" | "cover";
  /** Figures with the same name zoom and pan together; a figure without a name does neither. */
  readonly sync?: string;
  readonly className?: string;
  /** The picture was clicked, not dragged. The action must also be reachable by keyboard. */
  readonly onPress?: () => void;
}

const NO_PICTURE = { picture: null, oneFrame: false };

/** The frame of a picture. */
const PICTURE = { at: 0, of: 1 };

/** A picture with masks on one canvas at device resolution; drawn only while visible. */
export function MaskFigure(props: MaskFigureProps): ReactNode {
  const { rowId, imageId = null, width, height, layers, difference = null, label, fit = "contain" } = props;
  const { sync, onPress, strip = false } = props;
  const given = layers.find(({ role }) => role === "given")?.mask;
  const { at, of } = useClipFrame(strip ? null : rowId, imageId, given, props.frames) ?? PICTURE;
  const onion = useClips((state) => state.onion) && of > 1;
  const canvas = useRef<HTMLCanvasElement>(null);
  const pressed = useRef({ x: 0, y: 0 });
  const box = useVisibleBox(canvas);
  const mode = useOverlay((state) => (state.hidden ? "off" : state.mode));
  const opacity = useOverlay((state) => state.opacity);
  const view = useViews((state) => (sync === undefined ? WHOLE : (state.views[sync] ?? WHOLE)));
  useGestures(canvas, sync);

  const shown = Math.max(box?.width ?? 0, box?.height ?? 0) * (box?.ratio ?? 1) * view.zoom;
  const wanted = Math.min(of * shown, Math.max(width, height));
  // One picture of all frames of a long clip would be blurred, so its frames are fetched one by one.
  const alone = of > 1 && isTooLarge(wanted) ? at : null;
  const side =
    box === null ? null : pictureSide(alone === null ? wanted : Math.min(shown, Math.max(width, height / of)));
  // A picture that is not available may be there once its rows are open.
  const data = useSession(({ dataInfo }) => dataInfo);
  const loaded = useAsync(
    rowId === null || side === null ? null : `${imageId} ${rowId}`,
    async () => ({
      picture: await loadPicture(rowId as string, imageId, side as number, alone),
      oneFrame: alone !== null,
    }),
    [side, alone, data],
  );
  const { problem } = loaded;
  const { picture, oneFrame } = loaded.value ?? NO_PICTURE;

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (box === null || !element || !context) return;
    const draw = (): void => {
      const [w, h] = [Math.max(1, Math.round(box.width * box.ratio)), Math.max(1, Math.round(box.height * box.ratio))];
      if (element.width !== w) element.width = w;
      if (element.height !== h) element.height = h;
      const frame = { at, of };
      drawFigure(context, {
        picture,
        oneFrame,
        width,
        height,
        frame,
        onion,
        layers,
        difference,
        mode,
        opacity,
        view,
        fit,
        ratio: box.ratio,
      });
    };
    drawSoon(draw);
    return () => cancelDraw(draw);
  }, [box, picture, oneFrame, width, height, at, of, onion, layers, difference, mode, opacity, view, fit]);

  const style: CSSProperties = fit === "cover" ? {} : { aspectRatio: `${width} / ${height / of}` };
  return (
    <figure className={`relative block full-width clip ${styles.figure} ${props.className ?? ""}`} style={style}>
      <canvas
        ref={canvas}
        className={`block full-width absolute ${styles.canvas}`}
        role="img"
        aria-label={label}
        data-zoomed={view.zoom > 1}
        data-pressable={onPress !== undefined}
        onPointerDown={(event) => {
          pressed.current = { x: event.clientX, y: event.clientY };
        }}
        onClick={(event) => {
          const { x, y } = pressed.current;
          if (Math.hypot(event.clientX - x, event.clientY - y) < 5) onPress?.();
        }}
        // A pressed picture takes the focus, so that what it opens can give it back.
        tabIndex={sync !== undefined ? 0 : onPress !== undefined ? -1 : undefined}
        onKeyDown={(event) => {
          if (event.key === "Enter" && onPress !== undefined) {
            event.preventDefault();
            onPress();
          } else if (sync !== undefined) viewKey(event, sync);
        }}
      />
      {of > 1 && (
        <span className={`tiny absolute ${styles.clip}`} title="A clip; this is one of its frames">
          frame {at + 1}/{of}
        </span>
      )}
      {problem !== null && (
        <span className={`tiny absolute ${styles.note}`} title={problem}>
          no picture
        </span>
      )}
    </figure>
  );
}
