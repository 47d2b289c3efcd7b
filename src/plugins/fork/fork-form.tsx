import { type ReactNode, useId, useState } from "react";
import { Segmented, Select } from "../../app/components/ui/controls.tsx";
import { type Answered, continueRun, Decision } from "../../app/screens/runs/run-dialog.tsx";
import { settingChange } from "../../app/screens/runs/run-list.ts";
import { linkTo } from "../../app/stores/route.ts";
import { useSession } from "../../app/stores/session.ts";
import { counted } from "../../app/styles/format.ts";
import { changedSettings } from "../../engine/config/parse.ts";
import { presetConfig } from "../../engine/config/presets.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import { toLabError } from "../../engine/errors.ts";
import { heldStorage } from "../../engine/loading/storage-settings.ts";
import { ownSettings } from "../../engine/runs/run-parts.ts";
import { readSteps, StepsField } from "./extend.tsx";
import styles from "./fork.module.css";
import { FIXED, forkConfig } from "./fork.ts";
import { forkAndShow } from "./fork-run.ts";

const KINDS = { fork: "As a new run", restore: "In this run" } as const;

/** Settings of the page that differ from a run's: those that a fork can take, and those that it keeps. */
export function forkableChanges(run: LabConfig, page: LabConfig): Record<"changes" | "fixed", readonly SettingKey[]> {
  // The number of steps has its own field.
  const keys = changedSettings(page, run).filter((key) => key !== "steps");
  return {
    changes: keys.filter((key) => !FIXED.includes(key)),
    fixed: keys.filter((key) => FIXED.includes(key)),
  };
}

/** The chosen settings of the page; a custom reward with its hash. */
export function chosenSettings(page: LabConfig, keys: readonly SettingKey[]): Partial<LabConfig> {
  const all: readonly SettingKey[] = keys.includes("userReward") ? [...keys, "userRewardHash"] : keys;
  return Object.fromEntries(all.map((key) => [key, page[key]])) as Partial<LabConfig>;
}

/** Continues a run from a checkpoint: as a copy with other settings, or as the run itself. */
export default function Fork({ run, readOnly, onCancel, onWork }: Answered): ReactNode {
  const { manifest, checkpoints, steps: done, best } = run;
  const id = useId();
  const { config, model, preset } = useSession();
  // A run records how the weights are held, the settings how they will be loaded next.
  const page = model === null ? config : { ...config, ...heldStorage(model.storage) };
  const own = ownSettings(manifest);
  const { changes, fixed } = forkableChanges(own, page);
  const [step, setStep] = useState(checkpoints.at(-1) ?? 0);
  const [kind, setKind] = useState<keyof typeof KINDS>("fork");
  // Settings that the user changed are checked at first; those that only the preset changes are offered.
  const [taken, setTaken] = useState<readonly SettingKey[]>(() =>
    changes.filter((key) => page[key] !== presetConfig(preset)[key]),
  );
  const [typed, setText] = useState<string | null>(null);
  const { steps } = manifest.config;
  const text = typed ?? String(step < steps ? steps : 2 * steps);
  const parsed = readSteps(text);
  const given = {
    ...chosenSettings(
      page,
      taken.filter((key) => changes.includes(key)),
    ),
    ...("steps" in parsed && parsed.steps !== steps ? { steps: parsed.steps } : {}),
  };
  const problem = kind === "restore" ? null : "problem" in parsed ? parsed.problem : whyNot(own, given, step);
  const later = done - step;
  const restored =
    later === 0
      ? `The run continues from step ${step}; nothing is deleted`
      : `The run goes back to step ${step}; ${counted(later, "later step")} with rollouts and checkpoints will be deleted`;
  return (
    <Decision
      button={kind === "fork" ? "Fork" : `Restore step ${step}`}
      danger={kind === "restore"}
      blocked={problem !== null}
      onCancel={onCancel}
      onDecide={() =>
        onWork(kind === "restore" ? continueRun(run, undefined, step) : forkAndShow(manifest, step, given))
      }
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
        {!readOnly && <Segmented label="Continue" options={KINDS} value={kind} onChange={setKind} />}
      </div>
      {kind === "restore" ? (
        <p className="muted m-0">{restored}</p>
      ) : (
        <>
          {changes.length > 0 ? (
            <fieldset className={`grid gap-1 m-0 p-0 borderless ${styles.taken}`} data-testid="fork-changes">
              <legend>Settings of this page</legend>
              {changes.map((key) => (
                <Change
                  key={key}
                  change={settingChange(key, own, page)}
                  on={taken.includes(key)}
                  onChange={(on) => setTaken(on ? [...taken, key] : taken.filter((other) => other !== key))}
                />
              ))}
            </fieldset>
          ) : (
            <p className="muted m-0">
              The settings of this page are those of the run. Change them on{" "}
              <a href={linkTo({ screen: "setup" })}>Setup</a> or <a href={linkTo({ screen: "rewards" })}>Rewards</a>{" "}
              first, and the fork takes them
            </p>
          )}
          {fixed.length > 0 && (
            <p className="muted small m-0">
              Not offered, because a fork keeps them: {fixed.map((key) => SETTINGS[key].label).join(", ")}
            </p>
          )}
          <StepsField
            text={text}
            problem={problem}
            note={`A copy continues from step ${step}; ${manifest.title} stays unchanged. The curves mark the change`}
            onChange={setText}
          />
        </>
      )}
    </Decision>
  );
}

/** Why a fork cannot take these settings, or null. */
function whyNot(parent: LabConfig, given: Partial<LabConfig>, step: number): string | null {
  try {
    forkConfig(parent, given, step);
    return null;
  } catch (thrown) {
    return toLabError(thrown).message;
  }
}

function Change(props: {
  readonly change: ReturnType<typeof settingChange>;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}): ReactNode {
  const { label, before, after } = props.change;
  return (
    <label className="row gap-2">
      <input type="checkbox" checked={props.on} onChange={(event) => props.onChange(event.currentTarget.checked)} />
      <span className="anywhere">
        {label} <span className="muted">{before} →</span> <b>{after}</b>
      </span>
    </label>
  );
}
