import { type ButtonHTMLAttributes, type ReactNode, useId } from "react";
import styles from "./button.module.css";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: "primary" | "plain" | "quiet" | "danger";
  /** Why the button is disabled: shown on hover and read by screen readers. */
  readonly blocker?: string | null;
  readonly icon?: ReactNode;
}

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
        onClick={blocked ? undefined : onClick}
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
