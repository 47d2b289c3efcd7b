import { type ReactNode, useMemo, useState } from "react";
import { aboutLoop } from "../../../engine/rl/loops/abouts.ts";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { noisyMask } from "../../../engine/runs/rollouts/rollout-facts.ts";
import { fixed, signed } from "../../styles/format.ts";
import { ClipPlayer } from "../clip/clip-player.tsx";
import { LAYER_COLOURS, SAMPLED_COLOUR } from "../mask/layers.ts";
import { useViews, WHOLE } from "../mask/view-store.ts";
import { Button } from "../ui/button.tsx";
import { CopyPanel } from "../ui/panel/copy-panel.tsx";
import { type Tab, Tabs } from "../ui/tabs.tsx";
import { ActionStrip } from "./actions/action-strip.tsx";
import styles from "./details.module.css";
import { Caption, CaptionDiff, CopyButton } from "./reward/caption-diff.tsx";
import { RewardDetails } from "./reward/reward-details.tsx";
import { RolloutFigure } from "./rollout-figure.tsx";
import {
  ANSWER,
  answerRole,
  compareMasks,
  groupTracks,
  LAYER_KEYS,
  type LayerKey,
  layerName,
  rewardName,
  textTitle,
} from "./rollout-view.ts";

/** One rollout: masks, texts, reward, actions, record. */
export function Inspector(props: {
  readonly rollout: RolloutRecord;
  readonly layers: ReadonlySet<LayerKey>;
  readonly onToggle: (layer: LayerKey) => void;
  readonly sync: string;
  /** The computation of the advantage, below the reward. */
  readonly advantage: ReactNode;
  /** Additional tabs, such as the history of the row. */
  readonly more: readonly Tab[];
}): ReactNode {
  const { rollout, layers, onToggle, sync, advantage, more } = props;
  const zoom = useViews((state) => (state.views[sync] ?? WHOLE).zoom);
  const tracks = useMemo(() => groupTracks([rollout], rollout), [rollout]);
  const [asked, setAsked] = useState("captions");
  const tabs = [
    { id: "captions", label: "Captions", content: <Captions rollout={rollout} /> },
    {
      id: "reward",
      label: "Reward",
      content: (
        <div className="grid gap-3">
          {advantage}
          <RewardDetails rollout={rollout} />
        </div>
      ),
    },
    {
      id: "actions",
      label: aboutLoop(rollout.loop).samples === "text" ? "Tokens" : "Actions",
      content: <ActionStrip actions={rollout.actions} />,
    },
    ...more,
    { id: "raw", label: "Raw", content: <Raw rollout={rollout} /> },
  ];
  const tab = tabs.find(({ id }) => id === asked)?.id ?? "captions";
  return (
    <section
      className={`grid min-0 ${styles.inspector}`}
      data-testid="inspector"
      aria-label={`Rollout ${rollout.index + 1}`}
    >
      <div className="min-0">
        <RolloutFigure className={styles.figure ?? ""} rollout={rollout} layers={layers} sync={sync} />
        <ClipPlayer
          rowId={rollout.rowId}
          imageId={rollout.imageId}
          frames={rollout.frames}
          given={rollout.givenMask}
          tracks={tracks}
          role={answerRole(rollout.loop)}
          fileName={`rollout-${rollout.id}`}
        />
        <LayerToggles rollout={rollout} layers={layers} onToggle={onToggle} />
        <div className="row wrap gap-2 between mt-2">
          <CopyPanel name={`rollout ${rollout.index + 1}`} />
          {zoom === 1 ? (
            <span className={`muted small ${styles.quiet}`}>Click the picture, then scroll or press + to zoom</span>
          ) : (
            <Button onClick={() => useViews.getState().setView(sync, WHOLE)}>Whole picture · {zoom.toFixed(1)}×</Button>
          )}
        </div>
      </div>
      <div className="min-0">
        <header className={`flex wrap align-baseline muted mb-2 ${styles.factHead}`}>
          <h2>Rollout {rollout.index + 1}</h2>
          <span title={rewardName(rollout)}>
            reward <b>{fixed(rollout.reward, 3)}</b>
          </span>
          <span>
            advantage <b>{signed(rollout.advantage, 3)}</b>
          </span>
          {rollout.truncated && <span className="warn">truncated at the length limit</span>}
        </header>
        <Tabs label="About this rollout" tabs={tabs} value={tab} onChange={setAsked} />
      </div>
    </section>
  );
}

function Captions({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  const { loop, caption, captionPrime, referenceCaption, completion, prompt } = rollout;
  return (
    <div className="grid gap-3">
      {aboutLoop(loop).text === "caption" ? (
        <>
          <div className={`grid gap-3 align-start ${styles.answers}`}>
            <CaptionDiff name={textTitle(loop)} text={caption} reference={referenceCaption} />
            <AnswerMask rollout={rollout} />
          </div>
          <Caption name="Reference" text={referenceCaption} />
        </>
      ) : (
        <>
          <div className={`grid gap-3 align-start ${styles.answers}`}>
            <AnswerMask rollout={rollout} />
            {captionPrime === null ? (
              <Caption name="Caption′ of the partner" text="–" />
            ) : (
              <CaptionDiff name="Caption′ of the partner" text={captionPrime} reference={caption} />
            )}
          </div>
          <Caption name="Given caption" text={caption} />
          {referenceCaption !== caption && <Caption name="Reference" text={referenceCaption} />}
        </>
      )}
      <details className={styles.more} open={aboutLoop(loop).promptOfRow === true}>
        <summary className="muted pointer">Prompt and raw completion</summary>
        <Caption name="Prompt" text={prompt} />
        <Caption name="Completion" text={completion} />
      </details>
    </div>
  );
}

/** The drawn half of the answer, so that policy and partner are side by side; nothing where the loop has no mask. */
function AnswerMask({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  if (aboutLoop(rollout.loop).mask === null) return null;
  const iou = compareMasks(rollout)?.iou;
  const noisy = noisyMask(rollout);
  const sampled = compareMasks(rollout, noisy);
  return (
    <figure className="grid gap-1">
      <figcaption className="muted small">
        {layerName("answer", rollout.loop)}
        {iou !== undefined && `, IoU ${fixed(iou, 2)} with the given mask`}
        {noisy !== null && `; dashed: the sampled mask (with exploration noise), IoU ${fixed(sampled?.iou ?? null, 2)}`}
      </figcaption>
      {rollout.predictedMask === null ? (
        "–"
      ) : (
        <RolloutFigure className={styles.answer ?? ""} rollout={rollout} layers={ANSWER} />
      )}
    </figure>
  );
}

function Raw({ rollout }: { readonly rollout: RolloutRecord }): ReactNode {
  const text = useMemo(() => JSON.stringify(rollout, null, 2), [rollout]);
  return (
    <div className={styles.raw}>
      <CopyButton text={text} what="the record as JSON" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled area must be reachable by keyboard */}
      <pre className="p-3 round-m surface-2 anywhere" tabIndex={0}>
        {text.length > 200_000 ? `${text.slice(0, 200_000)}\n…` : text}
      </pre>
    </div>
  );
}

/** Switches of the mask layers, each with its number key and colour. */
function LayerToggles(props: {
  readonly rollout: RolloutRecord;
  readonly layers: ReadonlySet<LayerKey>;
  readonly onToggle: (layer: LayerKey) => void;
}): ReactNode {
  const { rollout, layers, onToggle } = props;
  const missing: Readonly<Record<LayerKey, boolean>> = {
    given: false,
    answer: rollout.predictedMask === null,
    difference: rollout.predictedMask === null,
    sampled: noisyMask(rollout) === null,
  };
  return (
    <div className="row wrap gap-2 mt-3">
      {LAYER_KEYS.map((key, at) =>
        (key === "sampled" && missing.sampled) || (key !== "given" && aboutLoop(rollout.loop).mask === null) ? null : (
          <button
            key={key}
            type="button"
            className={`inline-flex align-centre muted framed round-m clear pointer ${styles.layer}`}
            aria-pressed={layers.has(key)}
            disabled={missing[key]}
            onClick={() => onToggle(key)}
          >
            <kbd>{at + 1}</kbd>
            <i className={styles.swatch} data-layer={key} data-fill style={{ background: swatch(key, rollout) }} />
            {layerName(key, rollout.loop)}
          </button>
        ),
      )}
    </div>
  );
}

function swatch(key: LayerKey, rollout: RolloutRecord): string | undefined {
  if (key === "given") return LAYER_COLOURS.given;
  if (key === "answer") return LAYER_COLOURS[answerRole(rollout.loop)];
  return key === "sampled" ? SAMPLED_COLOUR : undefined;
}
