import { type ReactNode, useId, useState } from "react";
import { parseSetting } from "../../../engine/config/parse.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Button } from "../../components/ui/button.tsx";
import styles from "./runs.module.css";

/** Dialog that extends a finished run. */
export function TrainOn(props: {
  readonly run: RunDigest;
  readonly onCancel: () => void;
  readonly onTrain: (steps: number) => void;
}): ReactNode {
  const { manifest } = props.run;
  const done = manifest.config.steps;
  const id = useId();
  const [text, setText] = useState(String(2 * done));
  const parsed = parseSetting("steps", text);
  const steps = "value" in parsed ? Number(parsed.value) : Number.NaN;
  const problem =
    "problem" in parsed
      ? parsed.problem
      : steps > done
        ? null
        : `${done} ${done === 1 ? "step is" : "steps are"} already done`;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (problem === null) props.onTrain(steps);
      }}
    >
      <p>
        <b>{manifest.title}</b> continues from its newest checkpoint, with the same settings, rows and seeds
      </p>
      <p className={`row gap-2 ${styles.lengthField}`}>
        <label htmlFor={id}>Total steps</label>
        <input
          id={id}
          inputMode="numeric"
          autoComplete="off"
          value={text}
          aria-invalid={problem !== null}
          aria-describedby={`${id}-note`}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </p>
      <p id={`${id}-note`} className="muted" role={problem === null ? undefined : "alert"}>
        {problem ??
          (manifest.config.schedule === "constant"
            ? `${steps - done} more steps; the result equals an uninterrupted run of ${steps} steps`
            : `${steps - done} more steps; the learning-rate schedule is stretched to ${steps} steps, so the rate first jumps up`)}
      </p>
      <div className="flex gap-2 justify-end mt-4">
        <Button onClick={props.onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={problem !== null}>
          Extend
        </Button>
      </div>
    </form>
  );
}
