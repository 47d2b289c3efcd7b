import { type FormEvent, type ReactNode, useId, useState } from "react";
import { configDifference, isTextSetting } from "../../../../engine/config/parse.ts";
import { presetConfig } from "../../../../engine/config/presets.ts";
import { SETTINGS, type SettingKey } from "../../../../engine/config/table.ts";
import { Button } from "../../../components/ui/button.tsx";
import { Select, TextInput } from "../../../components/ui/controls.tsx";
import { useSession } from "../../../stores/session.ts";
import { draftSweep } from "../../../stores/sweep.ts";

const KEYS = (Object.keys(SETTINGS) as SettingKey[])
  .filter((key) => key !== "seed" && !isTextSetting(key))
  .sort((a, b) => a.localeCompare(b));
const OPTIONS = KEYS.map((key) => ({ value: key, label: key }));

/** Makes a sweep file from the current settings, one or two varied settings, and seeds. */
export function SweepGrid(): ReactNode {
  const [rows, setRows] = useState<readonly { readonly key: SettingKey; readonly values: string }[]>([
    { key: "learningRate", values: "" },
    { key: "beta", values: "" },
  ]);
  const id = useId();
  const [seeds, setSeeds] = useState("1, 2, 3");
  const make = (event: FormEvent): void => {
    event.preventDefault();
    const { config, preset } = useSession.getState();
    const varied = rows.filter(({ values }) => values.trim() !== "");
    const { seed: _, ...settings } = configDifference(config, presetConfig(preset));
    const content = {
      title: varied.length === 0 ? "Seeds" : `Grid over ${varied.map(({ key }) => key).join(" and ")}`,
      preset,
      settings,
      seeds: listed(seeds),
      ...(varied.length > 0 && { grid: Object.fromEntries(varied.map(({ key, values }) => [key, listed(values)])) }),
    };
    draftSweep("grid.json", JSON.stringify(content, null, 1));
  };
  return (
    <form className="column-flex gap-2" onSubmit={make} data-testid="sweep-grid">
      <p className="medium">Grid over the current settings</p>
      {rows.map((row, at) => {
        const change = (values: Partial<typeof row>): void =>
          setRows(rows.map((other) => (other === row ? { ...row, ...values } : other)));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the rows keep their places
          <div key={at} className="row wrap gap-2">
            <Select
              label={`Setting ${at + 1}`}
              options={OPTIONS}
              value={row.key}
              onChange={(key) => change({ key, values: "" })}
            />
            <TextInput
              aria-label={`Values of setting ${at + 1}`}
              placeholder={`values, such as ${String(SETTINGS[row.key].default)}`}
              value={row.values}
              onChange={(event) => change({ values: event.currentTarget.value })}
            />
          </div>
        );
      })}
      <label className="row wrap gap-2" htmlFor={id}>
        Seeds
        <TextInput id={id} value={seeds} onChange={(event) => setSeeds(event.currentTarget.value)} />
      </label>
      <div>
        <Button type="submit">Create file</Button>
      </div>
    </form>
  );
}

/** Comma-separated values: numbers, true, false and words. The parser of the file refuses invalid values. */
function listed(text: string): (string | number | boolean)[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) =>
      part === "true" || part === "false" ? part === "true" : Number.isNaN(Number(part)) ? part : Number(part),
    );
}
