import { type ButtonHTMLAttributes, type ReactNode, useId, useRef, useState } from "react";
import { report } from "../../clients/lab.ts";
import { linkTo, type Route } from "../../stores/route.ts";
import styles from "./button.module.css";
import { IconBack, IconChevron } from "./icons.tsx";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** "small" stands in a line of text. */
  readonly kind?: "primary" | "plain" | "quiet" | "danger" | "small";
  /** Why the button is disabled: shown on hover and read by screen readers. */
  readonly blocker?: string | null;
  readonly icon?: ReactNode;
}

/** What was pressed last: the second click of a double click is for the same button, not for one that took its place. */
let pressed: HTMLButtonElement | null = null;

/** A push button; with a blocker it is disabled but keeps its focus, so that the reason can be read. */
export function Button(props: ButtonProps): ReactNode {
  const { kind = "plain", blocker = null, icon, children, className, onClick, ...rest } = props;
  const reason = useId();
  const blocked = blocker !== null;
  return (
    <>
      <button
        type="button"
        {...rest}
        className={[styles.button, styles[kind], children === undefined && styles.bare, className]
          .filter(Boolean)
          .join(" ")}
        {...(blocked ? { "aria-disabled": true, "aria-describedby": reason, title: blocker } : {})}
        onClick={(event) => {
          const moved = event.detail > 1 && pressed !== event.currentTarget;
          if (event.detail === 1) pressed = event.currentTarget;
          if (!blocked && !moved) onClick?.(event);
        }}
      >
        {icon}
        {children}
      </button>
      {blocked && (
        <span id={reason} hidden>
          {blocker}
        </span>
      )}
    </>
  );
}

/** A link to a place of the page, among buttons. */
export function PlaceLink({ to, children }: { readonly to: Partial<Route>; readonly children: ReactNode }): ReactNode {
  return (
    <a className="screen-link" href={linkTo(to)}>
      {children}
    </a>
  );
}

/** Buttons for the one before and the one after what is shown. @param props.onPrevious, props.onNext null where there is none */
export function Turns(props: {
  /** What is shown, such as "row". */
  readonly kind: string;
  readonly onPrevious: (() => void) | null;
  readonly onNext: (() => void) | null;
}): ReactNode {
  const turn = (label: string, key: string, icon: ReactNode, act: (() => void) | null): ReactNode => (
    <Button
      kind="quiet"
      icon={icon}
      aria-label={label}
      title={`${label} (${key})`}
      disabled={act === null}
      onClick={() => act?.()}
    />
  );
  return (
    <>
      {turn(`Previous ${props.kind}`, "←", <IconBack />, props.onPrevious)}
      {turn(`Next ${props.kind}`, "→", <IconChevron />, props.onNext)}
    </>
  );
}

/** A button that opens the browser's file picker for one file. */
export function FileButton(props: {
  readonly children: ReactNode;
  /** Accessible name of the file input. */
  readonly label: string;
  /** Extensions or types, as the `accept` attribute takes them. */
  readonly accept: string;
  readonly testId: string;
  readonly onFile: (file: File) => void;
}): ReactNode {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()}>{props.children}</Button>
      <input
        ref={input}
        type="file"
        hidden
        accept={props.accept}
        aria-label={props.label}
        data-testid={props.testId}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          // Emptied, so that the same file can be chosen again.
          event.currentTarget.value = "";
          if (file !== undefined) props.onFile(file);
        }}
      />
    </>
  );
}

/** A short state label; the colour only repeats the text. */
export function Badge(props: {
  readonly tone?: "neutral" | "accent" | "good" | "warn" | "bad";
  readonly children: ReactNode;
}): ReactNode {
  return (
    <span className={`inline-flex align-centre tiny medium nowrap ${styles.badge} ${styles[props.tone ?? "neutral"]}`}>
      {props.children}
    </span>
  );
}

/** A button that copies a text and then says so; a refusal is listed as a problem. */
export function CopyText(props: ButtonProps & { readonly text: () => string; readonly label: string }): ReactNode {
  const { text, label, ...rest } = props;
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    setCopied(false);
    await navigator.clipboard.writeText(text());
    setCopied(true);
  };
  return (
    <Button {...rest} onClick={() => report(copy())}>
      {copied ? "Copied" : label}
    </Button>
  );
}
