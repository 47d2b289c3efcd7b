import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { encodeRle, maskIou, rleArea } from "../../../engine/data/mask/rle.ts";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import type { RolloutLook } from "../../../engine/session/look.ts";
import { lookAtRollout } from "../../clients/run/start-run.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
import { answerRole } from "../../components/rollout/rollout-view.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Slider } from "../../components/ui/controls.tsx";
import { TableHead } from "../../components/ui/table-head.tsx";
import { fixed, formatShare, percent, signed } from "../../styles/format.ts";
import { Repeated } from "./repeated.tsx";
import styles from "./rollouts.module.css";

/** A rollout's mask at other thresholds and the alternatives of its tokens, computed on request. */
export function CloserLook({ run, rollout }: { readonly run: ViewedRun; readonly rollout: RolloutRecord }): ReactNode {
  return (
    <div className="grid gap-3" data-testid="closer-look">
      <Repeated
        run={run}
        step={rollout.step}
        about="Recomputes the probabilities of the logged tokens and mask from the checkpoint before this step; nothing is stored"
        label="Compute probabilities"
        work={(manifest, onStep, signal) => lookAtRollout(manifest, rollout, onStep, signal)}
      >
        {({ mask, tokens }) => (
          <>
            {mask !== null && <Threshold rollout={rollout} mask={mask} />}
            {tokens.length > 0 && <Alternatives rollout={rollout} tokens={tokens} />}
            {mask === null && tokens.length === 0 && (
              <p>This rollout has neither tokens nor the mask of a single picture</p>
            )}
          </>
        )}
      </Repeated>
    </div>
  );
}

type Probabilities = NonNullable<RolloutLook["mask"]>;

/** The mask at a threshold, beside its probabilities. */
function Threshold({ rollout, mask }: { readonly rollout: RolloutRecord; readonly mask: Probabilities }): ReactNode {
  const { givenMask, loop, rowId, imageId } = rollout;
  const { height, width, values } = mask;
  const [threshold, setThreshold] = useState(0.5);
  const found = useMemo(
    () =>
      encodeRle(
        values.map((level) => Number(level >= 256 * threshold)),
        height,
        width,
      ),
    [values, height, width, threshold],
  );
  const layers = useMemo(
    () => [{ role: "given", mask: givenMask } as const, { role: answerRole(loop), mask: found }],
    [givenMask, loop, found],
  );
  const told = `IoU ${fixed(maskIou(givenMask, found).iou, 3)}, ${formatShare(rleArea(found) / (height * width))} of the picture`;
  return (
    <div className="grid gap-2">
      <div className={`grid gap-2 ${styles.sides}`}>
        <MaskFigure
          rowId={rowId}
          imageId={imageId}
          width={width}
          height={height}
          layers={layers}
          label={`Mask above ${percent(threshold)}, ${told}`}
        />
        <ProbabilityMap mask={mask} />
      </div>
      <Slider
        label="Mask threshold"
        className={styles.threshold ?? ""}
        value={threshold}
        min={0.01}
        max={0.99}
        step={0.01}
        valueText={percent(threshold)}
        onChange={setThreshold}
      />
      <p className="flex between">
        <span className="muted">Threshold {percent(threshold)}</span>
        <b data-testid="at-threshold">{told}</b>
      </p>
    </div>
  );
}

/** Probabilities as grey levels: black for 0, white for 1. */
function ProbabilityMap({ mask: { height, width, values } }: { readonly mask: Probabilities }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const pixels = new ImageData(width, height);
    values.forEach((level, at) => {
      pixels.data.set([level, level, level, 255], 4 * at);
    });
    canvas.current?.getContext("2d")?.putImageData(pixels, 0, 0);
  }, [height, width, values]);
  return (
    <canvas
      ref={canvas}
      className="block full-width round-m"
      width={width}
      height={height}
      role="img"
      aria-label="Mask probability of every pixel, from black for 0 to white for 1"
    />
  );
}

/** The tokens of a completion; a click lists the candidates at that position. */
function Alternatives({
  rollout: { actions },
  tokens,
}: {
  readonly rollout: RolloutRecord;
  readonly tokens: RolloutLook["tokens"];
}): ReactNode {
  const [at, setAt] = useState(0);
  const drawn = actions[at];
  if (drawn === undefined) return null;
  const listed = tokens[at] ?? [];
  // A sampled token outside the list takes its logged log-probability.
  const all = listed.some(({ id }) => id === drawn.id)
    ? listed
    : [...listed, { id: drawn.id, label: drawn.label, logp: drawn.oldLogp }];
  return (
    <div className="grid gap-2">
      <ol className={`flex wrap m-0 p-0 no-bullets ${styles.drawn}`} aria-label="Sampled tokens">
        {actions.map((action, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a token's position is its identity
          <li key={n}>
            <button
              type="button"
              className="framed round-s clear pointer"
              aria-pressed={n === at}
              onClick={() => setAt(n)}
            >
              {shown(action.label)}
            </button>
          </li>
        ))}
      </ol>
      <table className={`full-width small ${styles.choices}`} data-testid="alternatives">
        <TableHead columns={[`Candidates for token ${at + 1}`, "Probability", "log π"]} />
        <tbody>
          {all.map(({ id, label, logp }) => (
            <tr key={id} data-drawn={id === drawn.id}>
              <th scope="row">
                <code>{shown(label)}</code>
                {id === drawn.id && <span className="muted"> sampled</span>}
              </th>
              <td>
                <i data-fill style={{ width: `${60 * Math.exp(logp)}%` }} />
                {percent(Math.exp(logp))}
              </td>
              <td>{signed(logp, 3)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function shown(label: string): string {
  return label.trim() === "" ? "␣" : label;
}
