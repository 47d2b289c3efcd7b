import { type ReactNode, useMemo } from "react";
import { report } from "../../app/clients/lab.ts";
import { pauseClip, playClip, showFrame, useClipFrame, useClips } from "../../app/components/mask/frame-store.ts";
import type { MaskLayer } from "../../app/components/mask/layers.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Slider } from "../../app/components/ui/controls.tsx";
import { IconPause, IconPlay } from "../../app/components/ui/icons.tsx";
import { stopJob, useRunning } from "../../app/stores/jobs.ts";
import { fixed } from "../../app/styles/format.ts";
import { frameScores } from "./boundary.ts";
import styles from "./clip-player.module.css";
import type { ClipFile, ExportKind } from "./export-clip.ts";
import { FILM } from "./follow-store.ts";
import { FrameCurve } from "./frame-curve.tsx";

/**
 * Play, frame slider, onion skin and the overlap of each answer over the frames. All figures of the row follow. Renders
 * nothing for a picture.
 */
export default function ClipPlayer(props: Places["frames"]): ReactNode {
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
  const filming = useRunning(FILM);
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
            <Button kind="quiet" onClick={() => stopJob(FILM)}>
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
