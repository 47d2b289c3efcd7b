import { type ReactNode, useId, useState } from "react";
import { parseConfig } from "../../../engine/config/parse.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import { toLabError } from "../../../engine/errors.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { forkConfig } from "../../../engine/runs/library/fork.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Select, TextInput } from "../../components/ui/controls.tsx";
import { counted } from "../../styles/format.ts";

const KINDS = { fork: "As a new run", restore: "In this run" } as const;

/** Dialog that continues a run from any of its checkpoints. */
export function ForkRun(props: {
  readonly run: RunDigest;
  /** Whether the run is stored elsewhere, so that only a copy can continue. */
  readonly readOnly: boolean;
  readonly onCancel: () => void;
  readonly onFork: (step: number, changes: Partial<LabConfig>) => void;
  readonly onRestore: (step: number) => void;
}): ReactNode {
  const { manifest, checkpoints, steps, best } = props.run;
  const id = useId();
  const [step, setStep] = useState(checkpoints.at(-1) ?? 0);
  const [kind, setKind] = useState<keyof typeof KINDS>("fork");
  const [text, setText] = useState("");
  const changes = readChanges(kind === "fork" ? text : "", manifest.config, step);
  const unusable = "problem" in changes ? changes.problem : null;
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if ("problem" in changes) return;
        if (kind === "restore") props.onRestore(step);
        else props.onFork(step, changes.given);
      }}
    >
      <div className="row wrap gap-2-3">
        <label htmlFor={`${id}s`}>Checkpoint</label>
        <Select
          id={`${id}s`}
          options={checkpoints.map((at) => ({
            value: String(at),
            label: `Step ${at}${at === best?.step ? " (best)" : ""}`,
          }))}
          value={String(step)}
          onChange={(value) => setStep(Number(value))}
        />
        {!props.readOnly && <Segmented label="Continue" options={KINDS} value={kind} onChange={setKind} />}
      </div>
      {kind === "fork" && (
        <p className="grid gap-1">
          <label htmlFor={`${id}c`}>Changed settings</label>
          <TextInput
            id={`${id}c`}
            value={text}
            placeholder="learningRate=0.0001 beta=0.04"
            aria-describedby={`${id}n`}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </p>
      )}
      <p id={`${id}n`} className="muted" role={unusable === null ? undefined : "alert"}>
        {unusable ??
          (kind === "fork"
            ? `A copy continues from step ${step}; ${manifest.title} stays unchanged, and without changed settings the next step of both is equal`
            : steps === step
              ? `The run continues from step ${step}; nothing is deleted`
              : `The run goes back to step ${step}; ${counted(steps - step, "later step")} with rollouts and checkpoints will be deleted`)}
      </p>
      <div className="flex gap-2 justify-end">
        <Button onClick={props.onCancel}>Cancel</Button>
        <Button kind={kind === "fork" ? "primary" : "danger"} type="submit" disabled={unusable !== null}>
          {kind === "fork" ? "Fork" : `Restore step ${step}`}
        </Button>
      </div>
    </form>
  );
}

/**
 * Settings from "name=value" pairs; a value may contain further equals signs.
 * @param step of the checkpoint that the fork continues from
 */
export function readChanges(
  text: string,
  parent: LabConfig,
  step: number,
): { readonly given: Partial<LabConfig> } | { readonly problem: string } {
  const pairs = text.split(/[\s,]+/).filter(Boolean);
  const bare = pairs.find((pair) => !/^\w+=\S+$/.test(pair));
  if (bare !== undefined) return { problem: `Write settings as name=value, not "${bare}"` };
  const named = pairs.map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  const { given, problems, unknown } = parseConfig(Object.fromEntries(named), parent);
  const problem = problems[0] ?? (unknown[0] === undefined ? null : `There is no setting "${unknown[0]}"`);
  if (problem !== null) return { problem };
  try {
    forkConfig(parent, given, step);
    return { given };
  } catch (thrown) {
    return { problem: toLabError(thrown).message };
  }
}
