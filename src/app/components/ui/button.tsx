import { type ButtonHTMLAttributes, type ReactNode, useId } from "react";
import styles from "./button.module.css";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly kind?: "primary" | "plain" | "quiet" | "danger";
  /** Why it cannot be pressed: read out and shown on hover; the button stays reachable by keyboard. */
  readonly blocker?: string | null;
  readonly icon?: ReactNode;
}

/** A push button; with an blocker it is disabled but can still be focused, so that the reason is found. */
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
