import { type ReactNode, useMemo, useRef, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { answerColour, type MaskLayer } from "../../app/components/mask/layers.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button, FileButton } from "../../app/components/ui/button.tsx";
import { Segmented, Select } from "../../app/components/ui/controls.tsx";
import { stopJob, useRunning } from "../../app/stores/jobs.ts";
import { addOwnPicture } from "../../app/stores/picture-cache.ts";
import { useSession } from "../../app/stores/session.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { badInput } from "../../engine/errors.ts";
import type { TowerPart } from "../../engine/policy/features.ts";
import { Answer, type Shown, type TrialAnswer } from "./answer.tsx";
import type { TryTask } from "./answer-question.ts";
import { TextArea, useModelBlocker, useSides } from "./asking.tsx";
import { BoxCanvas } from "./box-canvas.tsx";
import { MAX_OWN_SIDE } from "./picture.ts";
import { askModel, QUESTION } from "./question.ts";
import { RegionList } from "./region-list.tsx";
import { boxRegion, type Region, rowPicture, rowRegions, type TrialPicture } from "./regions.ts";
import styles from "./try-out.module.css";

const TASKS = { describe: "Describe regions", segment: "Segment phrases", ask: "Ask anything" } as const;
type Task = keyof typeof TASKS;

const PHASES = {
  asked: "Waiting for the model",
  weights: "Loading the weights",
  features: "Encoding the picture",
  answer: "Answering",
} as const;

function phaseText(phase: keyof typeof PHASES, part: TowerPart | null): string {
  if (part === null) return PHASES[phase];
  return part.tower === "SAM2" ? "Encoding the picture for masks" : `Encoding tile ${part.tile} of ${part.tiles}`;
}

const BUTTONS: Readonly<Record<Task, string>> = { describe: "Describe", segment: "Segment", ask: "Ask" };

const MAX_NEW_TOKENS = 64;
/** A free answer may name many objects. */
const MAX_ANSWER_TOKENS = 256;

/** Asks the loaded model about this row's picture, or a picture of the user, outside training. */
export default function TryOut(props: Places["row"]): ReactNode {
  const { row } = props;
  const rows = useSession((session) => session.rows);
  const [picture, setPicture] = useState<TrialPicture>(() => rowPicture(row));
  const [regions, setRegions] = useState<readonly Region[]>(() => rowRegions(row, rows));
  const [task, setTask] = useState<Task>("describe");
  const [phrases, setPhrases] = useState(row.caption);
  const [question, setQuestion] = useState("Please describe this image and segment what you name.");
  const [withRegions, setWithRegions] = useState(false);
  const [sideName, setSide] = useState("base");
  const [answer, setAnswer] = useState<TrialAnswer | null>(null);
  const [shown, setShown] = useState<Shown>(0);
  const drawn = useRef(0);
  /** Counts changes of the picture and questions, so that an answer to an earlier one is dropped. */
  const newest = useRef(0);
  const sides = useSides();
  const side = sides.find(({ value }) => value === sideName) ?? sides[0];
  const { phase = null, part = null } = useRunning(QUESTION) ?? {};
  const blocker = useBlocker(task, regions, task === "ask" ? question : phrases);
  const marks = task === "describe" || (task === "ask" && withRegions);

  const layers = useMemo((): readonly MaskLayer[] => {
    const marked = regions.flatMap(({ on, mask }) => (on ? [{ role: "given", mask } as const] : []));
    if (task === "describe") return marked;
    const role = answer?.side.endsWith("ema") === true ? "partner" : "policy";
    if (answer?.answer.kind === "ask" && task === "ask") {
      const found = answer.answer.masks.map(({ mask }, at) => ({ role, mask, colour: answerColour(at) }) as const);
      return found.filter((_, at) => shown === "all" || shown === at);
    }
    if (task === "ask") return withRegions ? marked : [];
    const found = answer?.answer.kind === "segment" && shown !== "all" ? answer.answer.masks[shown] : null;
    const given = "row" in picture.source ? [{ role: "given", mask: row.mask } as const] : [];
    return found === null || found === undefined ? given : [...given, { role, mask: found.mask }];
  }, [task, regions, withRegions, answer, shown, picture, row.mask]);

  const own = async (file: File): Promise<void> => {
    const size = await createImageBitmap(file).catch((cause: unknown) => {
      throw badInput(`This browser cannot decode ${file.name}; the current picture is kept`, undefined, cause);
    });
    const id = `own ${file.name} ${file.size} ${file.lastModified}`;
    addOwnPicture(id, file);
    const scale = Math.min(1, MAX_OWN_SIDE / Math.max(size.width, size.height));
    const next = {
      id,
      width: Math.round(size.width * scale),
      height: Math.round(size.height * scale),
      source: { file, name: file.name },
    };
    size.close();
    drawn.current = 1;
    show(next, [boxRegion(next, [next.width / 4, next.height / 4, next.width / 2, next.height / 2], 1)], "");
  };
  const back = (): void => show(rowPicture(row), rowRegions(row, rows), row.caption);
  /** Shows another picture and cancels a pending question about the current one. */
  const show = (next: TrialPicture, marked: readonly Region[], words: string): void => {
    newest.current += 1;
    stopJob(QUESTION);
    setPicture(next);
    setRegions(marked);
    setAnswer(null);
    setPhrases(words);
  };

  const ask = async (): Promise<void> => {
    if (side === undefined) return;
    newest.current += 1;
    const mine = newest.current;
    setAnswer(null);
    const chosen = regions.filter(({ on }) => on);
    const lines = phrases.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
    const { source } = picture;
    const tried = await askModel(
      "row" in source ? { kind: "row", index: source.row } : { kind: "own", file: source.file },
      taskOf(task, lines, question, marks ? chosen.map(({ mask }) => mask) : []),
      side.weights,
    );
    // The answer came before the cancellation.
    if (mine !== newest.current) return;
    const labels = task === "segment" ? lines : chosen.map(({ label }) => label);
    setAnswer({ ...tried, labels, side: side.value, sideLabel: side.label });
    setShown(task === "ask" ? "all" : 0);
  };

  const addBox = (box: Parameters<typeof boxRegion>[1]): void => {
    drawn.current += 1;
    const region = boxRegion(picture, box, drawn.current);
    setRegions((before) => [...before, region]);
  };
  const fileName = "file" in picture.source ? picture.source.name : null;
  return (
    <section className="column-flex gap-3" aria-label="Try the model" data-testid="try-out">
      <div className={`row wrap gap-2 ${styles.line}`}>
        <Segmented label="Task" options={TASKS} value={task} onChange={setTask} />
        <Select label="Weights" options={sides} value={side?.value ?? "base"} onChange={setSide} testId="try-side" />
      </div>
      <BoxCanvas
        picture={picture}
        layers={layers}
        label={`${fileName ?? `Row ${row.index + 1}`}, ${layers.length} ${layers.length === 1 ? "mask" : "masks"} shown`}
        onBox={marks ? addBox : null}
      />
      <div className={`row wrap gap-2 ${styles.line}`}>
        <span className="muted anywhere">{fileName ?? "Picture of this row"}</span>
        <FileButton label="Use your picture" accept="image/*" testId="try-picture" onFile={(file) => report(own(file))}>
          Use your picture…
        </FileButton>
        {fileName !== null && <Button onClick={back}>Back to the row</Button>}
      </div>
      {task === "ask" && (
        <>
          <TextArea label="Question about the picture" testId="try-question" value={question} onChange={setQuestion} />
          <label className={`row wrap gap-2 ${styles.line}`}>
            <input
              type="checkbox"
              checked={withRegions}
              onChange={(event) => setWithRegions(event.currentTarget.checked)}
            />
            <span>Include the selected regions as region1, region2 and so on</span>
          </label>
        </>
      )}
      {marks && (
        <RegionList
          picture={picture}
          regions={regions}
          onChange={setRegions}
          onAdd={() => addBox([picture.width / 4, picture.height / 4, picture.width / 2, picture.height / 2])}
        />
      )}
      {task === "segment" && (
        <TextArea label="Phrases, one per line" testId="try-phrases" value={phrases} onChange={setPhrases} />
      )}
      <div className={`row wrap gap-2 ${styles.line}`}>
        {phase === null ? (
          <Button kind="primary" blocker={blocker} data-testid="try-ask" onClick={() => report(ask())}>
            {BUTTONS[task]}
          </Button>
        ) : (
          <Button data-testid="try-stop" onClick={() => stopJob(QUESTION)}>
            Cancel
          </Button>
        )}
        <p className="muted anywhere" role="status">
          {phase === null ? (blocker ?? "") : phaseText(phase, part)}
        </p>
      </div>
      {answer !== null && (
        <Answer answer={answer} shown={shown} onShow={setShown} truth={"row" in picture.source ? row.mask : null} />
      )}
    </section>
  );
}

function taskOf(task: Task, phrases: readonly string[], question: string, regions: readonly Rle[]): TryTask {
  if (task === "segment") return { kind: "segment", phrases };
  if (task === "describe") return { kind: "describe", regions, maxCompletionLength: MAX_NEW_TOKENS };
  return { kind: "ask", question, regions, maxCompletionLength: MAX_ANSWER_TOKENS };
}

/** Why the model cannot be asked now, or null. */
function useBlocker(task: Task, regions: readonly Region[], words: string): string | null {
  const blocker = useModelBlocker();
  if (blocker !== null) return blocker;
  if (task === "describe" && regions.every(({ on }) => !on)) return "Select a region to describe";
  if (task === "segment" && words.trim() === "") return "Enter a phrase to segment";
  if (task === "ask" && words.trim() === "") return "Enter a question";
  return null;
}
