/** Small form controls: segmented choice, slider, switch, select, text input. */
import { Switch as RadixSwitch, ToggleGroup } from "radix-ui";
import type { ComponentProps, ReactNode } from "react";
import styles from "./controls.module.css";

interface Option<V extends string> {
  readonly value: V;
  readonly label: string;
}

/** Labels of the offered values in the order shown, or a list where the values are known only at run time. */
type Options<V extends string> = Readonly<Partial<Record<V, string>>> | readonly Option<V>[];

const listOf = <V extends string>(options: Options<V>): readonly Option<V>[] =>
  Array.isArray(options)
    ? options
    : (Object.entries(options) as [V, string][]).map(([value, label]) => ({ value, label }));

/** One of a few choices, all visible; arrow keys move between them. */
export function Segmented<V extends string>(props: {
  readonly label: string;
  readonly options: Options<V>;
  readonly value: V;
  readonly onChange: (value: V) => void;
}): ReactNode {
  const options = listOf(props.options);
  return (
    <ToggleGroup.Root
      type="single"
      className={`inline-flex wrap surface-2 round-m ${styles.segmented}`}
      aria-label={props.label}
      value={props.value}
      onValueChange={(value) => {
        const option = options.find((candidate) => candidate.value === value);
        if (option !== undefined) props.onChange(option.value);
      }}
    >
      {options.map((option) => (
        <ToggleGroup.Item
          key={option.value}
          value={option.value}
          className={`muted small medium nowrap pointer round-s ${styles.segment}`}
        >
          {option.label}
        </ToggleGroup.Item>
      ))}
    </ToggleGroup.Root>
  );
}

export function Slider(props: {
  readonly label: string;
  readonly value: number;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly onChange: (value: number) => void;
  /** Spoken form of the value, such as "50 %". */
  readonly valueText?: string;
  readonly className?: string;
}): ReactNode {
  return (
    <input
      type="range"
      className={[styles.slider, props.className].filter(Boolean).join(" ")}
      aria-label={props.label}
      aria-valuetext={props.valueText}
      value={props.value}
      min={props.min}
      max={props.max}
      step={props.step}
      onChange={(event) => props.onChange(Number(event.currentTarget.value))}
    />
  );
}

export function Switch(props: {
  readonly id: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly testId?: string;
  readonly describedBy?: string;
}): ReactNode {
  return (
    <RadixSwitch.Root
      className={`relative p-0 pointer surface-2 framed-control ${styles.switch}`}
      checked={props.checked}
      onCheckedChange={props.onChange}
      id={props.id}
      aria-describedby={props.describedBy}
      data-testid={props.testId}
    >
      <RadixSwitch.Thumb className={`block ${styles.knob}`} />
    </RadixSwitch.Root>
  );
}

/** The browser's select, which works on every screen and with assistive technology. */
export function Select<V extends string>(props: {
  readonly id?: string;
  readonly label?: string;
  readonly options: Options<V>;
  readonly value: V;
  readonly onChange: (value: V) => void;
  readonly testId?: string;
  readonly describedBy?: string;
}): ReactNode {
  return (
    <select
      className={`surface round-m min-control framed-control ${styles.select}`}
      id={props.id}
      aria-label={props.label}
      aria-describedby={props.describedBy}
      data-testid={props.testId}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value as V)}
    >
      {listOf(props.options).map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  );
}

/** A line of text without spelling checks: an address, a name, a key. */
export function TextInput({ className, ...props }: ComponentProps<"input">): ReactNode {
  return (
    <input
      autoComplete="off"
      spellCheck={false}
      {...props}
      className={[styles.text, className].filter(Boolean).join(" ")}
    />
  );
}
