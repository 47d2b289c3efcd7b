import { type ReactNode, useId, useState } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { TextInput } from "../../app/components/ui/controls.tsx";
import { continueRun, Decision } from "../../app/screens/runs/run-dialog.tsx";
import { counted } from "../../app/styles/format.ts";
import { parseSetting } from "../../engine/config/parse.ts";
import { SETTINGS } from "../../engine/config/table.ts";
import styles from "./fork.module.css";

/** A labelled field for a number of steps. */
export function StepsField(props: {
  readonly text: string;
  readonly problem: string | null;
  readonly note: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  const id = useId();
  const { text, problem, note } = props;
  return (
    <>
      <p className="row gap-2 m-0">
        <label htmlFor={id}>Total steps</label>
        <TextInput
          id={id}
          className={styles.steps ?? ""}
          inputMode="numeric"
          autoComplete="off"
          value={text}
          aria-invalid={problem !== null}
          aria-describedby={`${id}n`}
          onChange={(event) => props.onChange(event.currentTarget.value)}
        />
      </p>
      <p id={`${id}n`} className="muted m-0" role={problem === null ? undefined : "alert"}>
        {problem ?? note}
      </p>
    </>
  );
}

/** The steps that a text names, or why it names none. */
export function readSteps(text: string): { readonly steps: number } | { readonly problem: string } {
  const parsed = parseSetting("steps", text, SETTINGS.steps.label);
  return "value" in parsed ? { steps: Number(parsed.value) } : parsed;
}

/** Continues a finished run with more steps. */
export default function Extend({ run, onCancel, onWork }: Places["extend"]): ReactNode {
  const { title, config } = run.manifest;
  const done = config.steps;
  const [text, setText] = useState(String(2 * done));
  const parsed = readSteps(text);
  const steps = "steps" in parsed ? parsed.steps : Number.NaN;
  const few = steps > done ? null : `${done} ${done === 1 ? "step is" : "steps are"} already done`;
  const problem = "problem" in parsed ? parsed.problem : few;
  const more = counted(steps - done, "more step");
  const note =
    config.lrSchedulerType === "constant"
      ? `${more}; the result equals an uninterrupted run of ${steps} steps`
      : `${more}; the learning-rate schedule is stretched to ${steps} steps, so the rate first jumps up`;
  return (
    <Decision
      button="Extend"
      blocked={problem !== null}
      onCancel={onCancel}
      onDecide={() => onWork(continueRun(run, steps))}
    >
      <p className="m-0">
        <b>{title}</b> continues from its newest checkpoint, with the same settings, rows and seeds
      </p>
      <StepsField text={text} problem={problem} note={note} onChange={setText} />
    </Decision>
  );
}
