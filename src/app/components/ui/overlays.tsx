import { Dialog as RadixDialog } from "radix-ui";
import { type ReactNode, useEffect, useRef } from "react";
import { addEntry } from "../../stores/route.ts";
import { IconClose } from "./icons.tsx";
import styles from "./overlays.module.css";

/** A modal dialog; Escape, a click outside and *Back* close it, and the focus returns to the opener. */
export function Dialog(props: {
  readonly title: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** Takes nearly the whole window. */
  readonly full?: boolean;
  /** Whether the address says that it is open. */
  readonly named?: boolean;
}): ReactNode {
  const opener = useRef<HTMLElement | null>(null);
  const { open, named = false } = props;
  const close = useRef(props.onOpenChange);
  close.current = props.onOpenChange;
  useEffect(() => (open && !named ? addEntry(() => close.current(false)) : undefined), [open, named]);
  return (
    <RadixDialog.Root open={props.open} onOpenChange={props.onOpenChange}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className={styles.scrim} />
        <RadixDialog.Content
          className={[styles.dialog, props.wide === true && styles.wide, props.full === true && styles.full]
            .filter(Boolean)
            .join(" ")}
          aria-describedby={undefined}
          onOpenAutoFocus={() => {
            opener.current = focused();
          }}
          onCloseAutoFocus={(event) => {
            // The library returns the focus only to its own triggers.
            event.preventDefault();
            opener.current?.focus();
          }}
        >
          <header className={`row gap-3 between ${styles.header}`}>
            <RadixDialog.Title>{props.title}</RadixDialog.Title>
            <RadixDialog.Close
              className={`grid p-0 muted pointer borderless round-m ${styles.close}`}
              aria-label="Close"
            >
              <IconClose />
            </RadixDialog.Close>
          </header>
          <div className="p-4 scroll">{props.children}</div>
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

/** The focused element; for an entry of a menu that closes, the menu's button. */
function focused(): HTMLElement | null {
  const element = document.activeElement;
  const button = element?.closest("[role=menu]")?.getAttribute("aria-labelledby");
  if (typeof button === "string") return document.getElementById(button);
  return element instanceof HTMLElement ? element : null;
}
