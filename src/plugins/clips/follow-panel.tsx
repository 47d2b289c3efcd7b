import { type ReactNode, useMemo, useState } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { showFrame, useClipFrame, useClips } from "../../app/components/mask/frame-store.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Segmented, Select } from "../../app/components/ui/controls.tsx";
import { useAsync } from "../../app/components/use-async.ts";
import { useSession } from "../../app/stores/session.ts";
import { counted } from "../../app/styles/format.ts";
import { frameOf, visibleFrames } from "../../engine/data/film-strip.ts";
import { decodeRle, encodeRle } from "../../engine/data/mask/rle.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import { TextArea, useModelBlocker, useSides } from "../try-out/asking.tsx";
import styles from "../try-out/try-out.module.css";
import type { ClipCalls } from "./clip-calls.ts";
import { continueFollowing, followClip, stopFollowing } from "./follow-client.ts";
import type { FollowTask } from "./follow-clip.ts";
import { type FollowedClip, useFollow, useFollowed } from "./follow-store.ts";
import { FollowedObjects } from "./followed-objects.tsx";
import type { ClipDecoder } from "./masklets.ts";

const STARTS = { expressions: "Expressions", masks: "Given mask" } as const;
type Start = keyof typeof STARTS;

const DECODERS: Readonly<Record<ClipDecoder, { readonly label: string; readonly reason: string }>> = {
  published: {
    label: "Decoder: published",
    reason: "As released: the fine-tuned decoder also decodes frames with memory, which it never saw in training.",
  },
  consistent: {
    label: "Decoder: consistent",
    reason:
      "As Sa2VA-i: the fine-tuned decoder decodes only the frames that the language model sees, as in training. SAM2's tracker follows these masks.",
  },
  alone: {
    label: "Decoder: alone",
    reason: "Every frame is decoded from the expression, without memory, as in training. Any checkpoint supports this.",
  },
};

const CHOICES = { uniform: "5 frames, evenly spread", first: "First 5 frames" } as const;

const ANSWERS = { forced: "Answer: Sure, [SEG].", free: "Answer: free" } as const;

/** Frames that the language model sees, as in the published recipes. */
const FRAMES = 5;
const MAX_ANSWER_TOKENS = 256;

/** Follows objects through a clip: those named by expressions, or that of the shown frame's given mask. */
export default function FollowClip({ row }: Places["clip"]): ReactNode {
  const followed = useFollowed(row);
  const object = useFollow((state) => state.object);
  const { frames: total = 1 } = row;
  const lacking = useLacking();
  const [start, setStart] = useState<Start>("expressions");
  const [words, setWords] = useState(() => wordsOf(followed) ?? row.caption);
  const [asked, setDecoder] = useState<ClipDecoder>("published");
  const [chosen, setChoice] = useState<keyof typeof CHOICES | null>(null);
  const [answers, setAnswers] = useState<keyof typeof ANSWERS>("forced");
  const [sideName, setSide] = useState("base");
  const sides = useSides();
  const side = sides.find(({ value }) => value === sideName) ?? sides[0];
  const at = useClipFrame(row.id)?.at ?? 0;
  const visible = useMemo(() => visibleFrames(decodeRle(row.mask), total), [row.mask, total]);
  const decoder = lacking === null ? asked : "alone";
  const choice = chosen ?? (decoder === "published" ? "first" : "uniform");
  const lines = words.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
  const empty = start === "expressions" ? lines.length === 0 : !visible.includes(at);
  const blocker = useBlocker(row, start, empty, lacking);
  const running = followed?.state === "running";

  const task = (): FollowTask => {
    if (start === "expressions") {
      const settings = {
        choice: { kind: choice, count: FRAMES },
        decoder,
        answers,
        maxCompletionLength: MAX_ANSWER_TOKENS,
      };
      return { kind: "expressions", expressions: lines, settings };
    }
    const mask = encodeRle(frameOf(decodeRle(row.mask), total, at), row.height / total, row.width);
    return { kind: "masks", frame: at, masks: [mask] };
  };
  /** Shows new frames until the user selects another. */
  const showNewest = (): ((frame: number) => void) => {
    let shown: number | undefined;
    return (frame) => {
      const now = useClips.getState();
      if (shown !== undefined && (now.shown[row.id] !== shown || now.playing?.rowId === row.id)) return;
      shown = frame;
      showFrame(row.id, frame);
    };
  };
  return (
    <section className="column-flex gap-3" aria-label="Follow objects through the clip" data-testid="follow">
      <div className={`row wrap gap-2 ${styles.line}`}>
        <Segmented label="Start from" options={STARTS} value={start} onChange={setStart} />
        <Select label="Weights" options={sides} value={side?.value ?? "base"} onChange={setSide} testId="follow-side" />
      </div>
      {lacking !== null && (
        <p className="p-2-3 warn-soft round-m anywhere" data-testid="follow-lacks">
          {lacking}
        </p>
      )}
      {start === "expressions" ? (
        <>
          <TextArea
            label="Expressions, one per line"
            rows={2}
            testId="follow-words"
            value={words}
            onChange={setWords}
          />
          <div className={`row wrap gap-2 ${styles.line}`}>
            <Select
              label="Decoder"
              options={Object.entries(DECODERS).flatMap(([value, { label }]) =>
                lacking === null || value === "alone" ? [{ value: value as ClipDecoder, label }] : [],
              )}
              value={decoder}
              onChange={setDecoder}
              testId="follow-decoder"
            />
            <Select label="Frames for the language model" options={CHOICES} value={choice} onChange={setChoice} />
            <Select label="Answer" options={ANSWERS} value={answers} onChange={setAnswers} testId="follow-answers" />
          </div>
          <p className="muted anywhere" data-testid="follow-reason">
            {DECODERS[decoder].reason}
          </p>
        </>
      ) : (
        <p className="muted anywhere" data-testid="follow-reason">
          SAM2's tracker follows the given mask of frame {at + 1}, forward and then back. The language model is not
          used.
        </p>
      )}
      <div className={`row wrap gap-2 ${styles.line}`}>
        {running ? (
          <Button data-testid="follow-stop" onClick={stopFollowing}>
            Cancel
          </Button>
        ) : (
          <Button
            kind="primary"
            blocker={blocker}
            data-testid="follow-start"
            onClick={() => side !== undefined && report(followClip(row, task(), side.weights, showNewest()))}
          >
            Follow
          </Button>
        )}
        {blocker !== null && !running && <p className="muted anywhere">{blocker}</p>}
      </div>
      {followed !== null && (
        <FollowedObjects followed={followed} object={object} onObject={(next) => useFollow.setState({ object: next })}>
          {followed.state === "stopped" && followed.done > 0 && (
            <Button
              blocker={blocker}
              data-testid="follow-continue"
              onClick={() => report(continueFollowing(showNewest()))}
            >
              Continue after {counted(followed.done, "frame")}
            </Button>
          )}
        </FollowedObjects>
      )}
    </section>
  );
}

function wordsOf(followed: FollowedClip | null): string | null {
  return followed?.task.kind === "expressions" ? followed.task.expressions.join("\n") : null;
}

const STORED = "The stored conversion has no tensors of SAM2's memory; open the model's folder to use them";

/** Why frames can only be decoded alone with the open model; null if they need not be, or no model is open. */
function useLacking(): string | null {
  const model = useSession((session) => session.model);
  const modelFolder = useSession((session) => session.modelFolder);
  const { value = null } = useAsync(
    model === null ? null : model.hash,
    async () => (modelFolder === null ? STORED : pluginCalls<ClipCalls>("trainer").lacksMemory(modelFolder)),
    [modelFolder],
  );
  return value;
}

/** Why nothing can be followed now, or null. */
function useBlocker(row: RegionSummary, start: Start, empty: boolean, lacking: string | null): string | null {
  const blocker = useModelBlocker();
  const elsewhere = useFollow(({ clip }) => clip?.state === "running" && clip.rowId !== row.id);
  if (blocker !== null) return blocker;
  if (elsewhere) return "Another clip is being followed. Cancel it first";
  if (start === "masks" && lacking !== null) return "Following a given mask needs SAM2's memory, which the model lacks";
  if (!empty) return null;
  return start === "masks" ? "The given mask is empty on this frame; show another frame" : "Enter an expression";
}
