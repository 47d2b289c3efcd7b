import { Fragment, type ReactNode, useMemo, useState } from "react";
import { parseSetting, SETTING_KEYS } from "../../../engine/config/parse.ts";
import { presetConfig } from "../../../engine/config/presets.ts";
import { type NumberSetting, SETTING_GROUPS, type Setting, trlName } from "../../../engine/config/setting.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../../engine/config/table.ts";
import { usesSetting } from "../../../engine/config/uses.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { Button } from "../ui/button.tsx";
import { Select, Switch, TextInput } from "../ui/controls.tsx";
import { IconReset } from "../ui/icons.tsx";
import styles from "./field.module.css";

type Value = LabConfig[SettingKey];

const put = (key: SettingKey, value: Value): void => changeConfig({ [key]: value });

/** Settings of this page below each other. */
export function Fields({ keys }: { readonly keys: readonly SettingKey[] }): ReactNode {
  const config = useSession((session) => session.config);
  const preset = useSession((session) => session.preset);
  const base = useMemo(() => presetConfig(preset), [preset]);
  return (
    <div className="column-flex">
      {keys.map((key) => (
        <Field key={key} name={key} value={config[key]} base={base[key]} />
      ))}
    </div>
  );
}

/** One setting: label, control, unit, range, help, and a reset to the preset's value. */
export function Field(props: {
  readonly name: SettingKey;
  readonly value: Value;
  readonly base: Value;
  /** The value in other words, below the help. */
  readonly children?: ReactNode;
}): ReactNode {
  const { name, value, base, children } = props;
  const setting: Setting = SETTINGS[name];
  const id = `setting-${name}`;
  const changed = value !== base;
  const theirs = trlName(name, setting);
  const trl = theirs === undefined ? null : `TRL ${theirs}`;
  const facts = [rangeText(setting), healthyText(setting), trl].flatMap((fact) => fact ?? []);
  return (
    <div className={`relative ${styles.field}`} data-changed={changed}>
      <div className={`row wrap gap-2 min-control ${styles.line}`}>
        <label className="grow medium" htmlFor={id}>
          {setting.label}
        </label>
        {changed && (
          <Button
            kind="quiet"
            className={styles.reset ?? ""}
            icon={<IconReset size={14} />}
            aria-label={`Reset ${setting.label} to ${valueText(name, base)}`}
            title={`Back to ${valueText(name, base)}`}
            onClick={() => put(name, base)}
          />
        )}
        <Control id={id} name={name} setting={setting} value={value} />
      </div>
      <p className={`muted small ${styles.help}`} id={`${id}-help`}>
        {setting.help}.{" "}
        <span className="block">
          {facts.map((fact, at) => (
            <Fragment key={fact}>
              <span className="nowrap">{at === facts.length - 1 ? fact : `${fact} ·`}</span>{" "}
            </Fragment>
          ))}
        </span>
      </p>
      {children != null && <div className="muted small">{children}</div>}
    </div>
  );
}

function Control(props: {
  readonly id: string;
  readonly name: SettingKey;
  readonly setting: Setting;
  readonly value: Value;
}): ReactNode {
  const { id, name, setting, value } = props;
  const questions = useSession(({ rows }) => rows.some((row) => row.questions !== undefined));
  const shared = { id, testId: id, describedBy: `${id}-help` };
  if (setting.kind === "flag") {
    return <Switch {...shared} checked={value === true} onChange={(checked) => put(name, checked)} />;
  }
  if (setting.kind === "choice") {
    const offered = setting.choices.filter((one) => one.value === value || one.needs === undefined || questions);
    return (
      <Select {...shared} options={offered} value={String(value)} onChange={(choice) => put(name, choice as Value)} />
    );
  }
  if (setting.kind === "text") {
    return (
      <TextInput
        id={id}
        className="grow"
        value={String(value)}
        maxLength={setting.maxLength}
        data-testid={id}
        aria-describedby={`${id}-help`}
        onChange={(event) => put(name, event.currentTarget.value)}
      />
    );
  }
  return <NumberField id={id} name={name} value={Number(value)} describedBy={`${id}-help`} />;
}

/** A number as text, so that 1e-5 can be typed; a value outside the range shows a message and is not applied. */
export function NumberField(props: {
  readonly id: string;
  readonly name: SettingKey;
  readonly value: number;
  /** Accessible name, where no label names it. */
  readonly label?: string;
  readonly describedBy?: string;
  /** Sign before the number. */
  readonly sign?: string;
  readonly className?: string | undefined;
}): ReactNode {
  const { id, name, value, label, describedBy, sign, className = "" } = props;
  const setting = SETTINGS[name] as NumberSetting;
  const [draft, setDraft] = useState<string | null>(null);
  const text = draft ?? numberText(value);
  const parsed = parseSetting(name, text, setting.label);
  // The field returns to its old value; the message about the refused one stays.
  const [refused, setRefused] = useState<{ readonly problem: string | null; readonly kept: number } | null>(null);
  const past = refused?.kept === value ? refused.problem : null;
  const problem = draft === null ? past : "problem" in parsed ? parsed.problem : null;

  const step = (direction: 1 | -1): void => {
    const fine =
      setting.kind === "float" && value !== 0 && setting.step > Math.abs(value) ? Math.abs(value) / 10 : setting.step;
    const next = Math.min(setting.max, Math.max(setting.min, Number((value + direction * fine).toPrecision(10))));
    setDraft(null);
    put(name, next);
  };

  return (
    <span className="relative">
      <span className={`inline-flex align-centre surface round-m framed-control ${styles.box} ${className}`}>
        {sign !== undefined && <i aria-hidden="true">{sign}</i>}
        <input
          id={id}
          aria-label={label}
          className={`text-right borderless ${styles.input}`}
          inputMode={setting.kind === "int" ? "numeric" : "decimal"}
          autoComplete="off"
          spellCheck={false}
          value={text}
          data-testid={id}
          aria-invalid={draft !== null && problem !== null}
          aria-describedby={problem === null ? describedBy : `${id}-problem`}
          onChange={(event) => {
            const typed = event.currentTarget.value;
            setDraft(typed);
            const result = parseSetting(name, typed);
            if ("value" in result) put(name, result.value as Value);
          }}
          onFocus={(event) => {
            setRefused(null);
            event.currentTarget.select();
          }}
          onBlur={() => {
            setRefused(draft === null ? null : { problem, kept: value });
            setDraft(null);
          }}
          onKeyDown={(event) => {
            if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
            event.preventDefault();
            step(event.key === "ArrowUp" ? 1 : -1);
          }}
        />
        {setting.unit !== undefined && <span className={`muted small ${styles.unit}`}>{setting.unit}</span>}
      </span>
      {problem !== null && (
        <span className={`small p-2 bad bad-soft round-m absolute ${styles.problem}`} id={`${id}-problem`} role="alert">
          {problem}; {numberText(value)} is kept
        </span>
      )}
    </span>
  );
}

/** Small numbers in scientific form, such as 1e-4; others unchanged. */
export function numberText(value: number): string {
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential().replace("e-0", "e-") : String(value);
}

export function valueText(key: SettingKey, value: number | string | boolean): string {
  const setting: Setting = SETTINGS[key];
  if (setting.kind === "flag") return value === true ? "on" : "off";
  if (setting.kind === "choice")
    return setting.choices.find((option) => option.value === value)?.label ?? String(value);
  if (setting.kind === "text") return value === "" ? "empty" : String(value);
  return numberText(Number(value));
}

/** Allowed range as text: "1 to 64 rollouts"; null without a range. */
export function rangeText(setting: Setting): string | null {
  if (setting.kind !== "int" && setting.kind !== "float") return null;
  const max = setting.max >= 1e5 ? "" : ` to ${numberText(setting.max)}`;
  return max === "" ? `from ${numberText(setting.min)}` : `${numberText(setting.min)}${max}`;
}

/** Range of published recipes as text; null where they name none. */
export function healthyText(setting: Setting): string | null {
  if (!("healthy" in setting) || setting.healthy === undefined) return null;
  return `published recipes: ${setting.healthy.map(numberText).join(" to ")}`;
}

/**
 * Settings that a run with this configuration reads, by name, label, TRL's name, group or help; names first.
 * @param query words that must all occur; "" takes all
 */
export function findSettings(query: string, config: LabConfig): readonly SettingKey[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
  const names = (key: SettingKey): string => {
    const setting: Setting = SETTINGS[key];
    return `${key} ${setting.label} ${trlName(key, setting) ?? ""}`;
  };
  const found = SETTING_KEYS.filter((key) => {
    const { help, group, ownControl }: Setting = SETTINGS[key];
    return ownControl !== true && usesSetting(key, config) && has(`${names(key)} ${SETTING_GROUPS[group]} ${help}`);
  });
  return [...found.filter((key) => has(names(key))), ...found.filter((key) => !has(names(key)))];
}
