import { type ReactNode, useId, useState } from "react";
import { groupsPerStep } from "../../../engine/config/derived.ts";
import { parseSetting } from "../../../engine/config/parse.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import { lab } from "../../clients/lab.ts";
import { TextInput } from "../../components/ui/controls.tsx";
import { useAsync } from "../../components/use-async.ts";
import { useMeasured } from "../../stores/measured.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { counted } from "../../styles/format.ts";
import styles from "./setup.module.css";

/** Rows that a step draws for each loop. */
export function rowsPerStep(
  config: Pick<LabConfig, "mode" | "accumulation" | "promptsPerStep" | "stepsPerGeneration">,
): number {
  return config.mode === "sft" ? config.accumulation * config.promptsPerStep : groupsPerStep(config);
}

/** The length of the next run in epochs and minutes; typing one sets the steps. */
export function RunLength({ config }: { readonly config: LabConfig }): ReactNode {
  // Null until all rows are open.
  const data = useSession((session) => session.dataInfo);
  const forecast = useSession((session) => session.plan?.fit.stepSeconds ?? null);
  const measured = useMeasured();
  const { rowFilter, maxRows, heldOutShare, splitSeed, selectionShare } = config;
  const split = { rowFilter, maxRows, heldOutShare, splitSeed, selectionShare };
  const rows = useAsync(data, () => lab().data.trainRows(split), Object.values(split));
  const trainRows = rows.value ?? 0;
  const seconds = measured?.seconds ?? forecast;
  const perEpoch = trainRows / rowsPerStep(config);
  return (
    <div className={`row wrap gap-2-4 muted small ${styles.length}`} data-testid="run-length">
      {rows.problem !== null && <span className="bad">{rows.problem}</span>}
      {trainRows > 0 && (
        <Amount
          label={`epochs of ${trainRows.toLocaleString("en-US")} training rows`}
          steps={config.steps}
          perUnit={perEpoch}
        />
      )}
      {seconds !== null && seconds > 0 && (
        <Amount
          label={`minutes, estimated from the ${measured?.by ?? "forecast"}`}
          steps={config.steps}
          perUnit={60 / seconds}
        />
      )}
    </div>
  );
}

/** The steps in another unit. @param perUnit steps of one unit */
function Amount(props: { readonly label: string; readonly steps: number; readonly perUnit: number }): ReactNode {
  const { label, steps, perUnit } = props;
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const stepsOf = (typed: string): number | null => {
    const parsed = parseSetting("steps", String(Math.max(1, Math.round(Number(typed) * perUnit))));
    return Number(typed) > 0 && "value" in parsed ? Number(parsed.value) : null;
  };
  const refused = draft !== null && stepsOf(draft) === null;
  return (
    <span className="row gap-2">
      <TextInput
        id={id}
        className={`text-right ${styles.amount}`}
        inputMode="decimal"
        aria-invalid={refused}
        value={draft ?? amountText(steps / perUnit)}
        onChange={(event) => {
          const typed = event.currentTarget.value;
          setDraft(typed);
          const next = stepsOf(typed);
          if (next !== null) changeConfig({ steps: next });
        }}
        onBlur={() => setDraft(null)}
      />
      <label htmlFor={id}>{label}</label>
      {refused && (
        <span className="bad" role="alert">
          not a valid length; {counted(steps, "step")} are kept
        </span>
      )}
    </span>
  );
}

/** Two digits after the point below ten, else one; without zeros at the end. */
export function amountText(amount: number): string {
  return String(Number(amount.toFixed(amount < 10 ? 2 : 1)));
}
