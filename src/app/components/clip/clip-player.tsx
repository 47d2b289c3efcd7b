import { type ReactNode, useMemo } from "react";
import { type FrameScores, frameScores } from "../../../engine/data/clips/frame-scores.ts";
import type { Rle } from "../../../engine/data/mask/rle.ts";
import { report } from "../../clients/lab.ts";
import { fixed } from "../../styles/format.ts";
import type { MaskLayer, MaskRole } from "../mask/layers.ts";
import { Button } from "../ui/button.tsx";
import { Slider } from "../ui/controls.tsx";
import { IconPause, IconPlay } from "../ui/icons.tsx";
import styles from "./clip-player.module.css";
import { pauseClip, playClip, showFrame, useClips } from "./clip-store.ts";
import type { ClipFile, ExportKind } from "./export-clip.ts";
import { FrameCurve } from "./frame-curve.tsx";
import { useClipFrame } from "./use-clip.ts";

/** An answered masklet beside the given one. */
export interface Track {
  readonly name: string;
  readonly mask: Rle | null;
  /** Colour of its masks where a picture has several; a video draws all tracks with a colour. */
  readonly colour?: string;
  /** Overlap by frame; computed from the masks if absent. */
  readonly scores?: FrameScores;
  /** The selected answer; its curve is drawn on top. */
  readonly selected?: boolean;
}

/**
 * Play, frame slider, onion skin and the overlap of each answer over the frames. All figures of the row follow. Renders
 * nothing for a picture.
 */
export function ClipPlayer(props: {
  readonly rowId: string;
  readonly imageId?: string | null;
  /** Frames as the run recorded them. */
  readonly frames?: number | undefined;
  readonly given: Rle;
  readonly tracks: readonly Track[];
  /** Role of the selected answer's mask in a video. */
  readonly role?: MaskRole;
  /** Beginning of the names of exported files; nothing can be exported without one. */
  readonly fileName?: string;
}): ReactNode {
  const { rowId, imageId = null, given, tracks, role = "policy", fileName } = props;
  const frame = useClipFrame(rowId, imageId, given, props.frames);
  const playing = useClips((state) => state.playing?.rowId === rowId && state.playing.back === null);
  const onion = useClips((state) => state.onion);
  const of = frame?.of;
  const curves = useMemo(
    () =>
      of === undefined
        ? []
        : tracks.flatMap(({ mask, ...track }) =>
            mask === null || mask.size.join() !== given.size.join()
              ? []
              : [{ ...track, mask, scores: track.scores ?? frameScores(given, mask, of) }],
          ),
    [tracks, given, of],
  );
  if (frame === undefined) return null;
  const { at } = frame;
  const told = curves.length === 1 ? curves[0] : curves.find(({ selected }) => selected);
  const score = told?.scores[at];
  const save = (kind: ExportKind): void => {
    const layers: MaskLayer[] = [
      { role: "given", mask: given },
      ...curves
        .filter((curve) => curve === told || curve.colour !== undefined)
        .map(({ mask, colour }) => ({ role, mask, ...(colour === undefined ? {} : { colour }) })),
    ];
    const masklets = [{ name: "given", mask: given }, ...curves.map(({ name, mask }) => ({ name, mask }))];
    const clip: ClipFile = { name: fileName ?? "clip", rowId, imageId, frames: frame.of, masklets, layers };
    report(import("./export-clip.ts").then(({ exportClip }) => exportClip(kind, clip)));
  };
  const text = `Frame ${at + 1} of ${frame.of}`;
  return (
    <div className={`grid gap-1 min-0 ${styles.player}`} data-testid="clip-player">
      <div className="row wrap gap-2">
        <Button
          kind="quiet"
          icon={playing ? <IconPause /> : <IconPlay />}
          aria-label={playing ? "Pause the clip" : "Play the clip"}
          onClick={() => (playing ? pauseClip() : playClip(rowId, frame))}
        />
        <span className="muted small nowrap" data-testid="frame-number">
          {text}
        </span>
        {told !== undefined && (
          <span className="small nowrap" data-testid="frame-iou">
            {score === undefined ? "not followed yet" : score === null ? "no mask" : `IoU ${fixed(score, 2)}`}
          </span>
        )}
        <span className="grow" />
        <Button
          kind="quiet"
          aria-pressed={onion}
          title="Draws the outlines of the frames before and after"
          onClick={() => useClips.setState({ onion: !onion })}
        >
          Onion skin
        </Button>
        {fileName !== undefined && <ClipExports rowId={rowId} onSave={save} />}
      </div>
      <Slider
        label="Frame"
        className={styles.slider ?? ""}
        value={at}
        min={0}
        max={frame.of - 1}
        step={1}
        valueText={text}
        onChange={(next) => {
          pauseClip();
          showFrame(rowId, next);
        }}
      />
      {curves.length > 0 && (
        <FrameCurve
          curves={curves}
          frame={frame}
          onPick={(next) => {
            pauseClip();
            showFrame(rowId, next);
          }}
        />
      )}
    </div>
  );
}

const EXPORTS = [
  { kind: "json", label: "JSON", title: "Run-length masks of all masklets" },
  { kind: "png", label: "PNG", title: "One PNG per frame and masklet, in a zip" },
  { kind: "webm", label: "WebM", title: "A video of the frames with outlines" },
] as const satisfies readonly { readonly kind: ExportKind; readonly label: string; readonly title: string }[];

/** Files of a row's masklets; a video shows its frames and can be cancelled. */
function ClipExports(props: { readonly rowId: string; readonly onSave: (kind: ExportKind) => void }): ReactNode {
  const filming = useClips((state) => state.filming);
  const other = filming !== null && filming.rowId !== props.rowId;
  return (
    <fieldset className="row gap-1 m-0 p-0 borderless" aria-label="Export of masklets">
      <span className="muted small">Export</span>
      {EXPORTS.map(({ kind, label, title }) =>
        kind === "webm" && filming !== null && !other ? (
          <span key={kind} className="row gap-1 small nowrap">
            <span role="status">
              {filming.done} of {filming.total} frames
            </span>
            <Button kind="quiet" onClick={filming.stop}>
              Cancel
            </Button>
          </span>
        ) : (
          <Button
            key={kind}
            kind="quiet"
            title={title}
            blocker={kind === "webm" && other ? "A video of another clip is being made" : null}
            onClick={() => props.onSave(kind)}
            data-testid={`export-${kind}`}
          >
            {label}
          </Button>
        ),
      )}
    </fieldset>
  );
}
