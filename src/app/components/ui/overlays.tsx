import { DropdownMenu, Dialog as RadixDialog } from "radix-ui";
import { type ReactElement, type ReactNode, useRef } from "react";
import { IconClose } from "./icons.tsx";
import styles from "./overlays.module.css";

/** A modal dialog; Escape and a click outside close it, and the focus returns to the opener. */
export function Dialog(props: {
  readonly title: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
  /** Takes nearly the whole window. */
  readonly full?: boolean;
}): ReactNode {
  const opener = useRef<HTMLElement | null>(null);
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

interface MenuEntry {
  readonly label: string;
  readonly act: () => void;
  /** Why it cannot be chosen now: shown below its label. */
  readonly blocker?: string | null;
  readonly danger?: boolean;
  readonly help?: string;
}

/** A menu below its button: arrows move, Enter chooses, Escape closes. @param trigger the button, which takes a ref */
export function Menu(props: { readonly trigger: ReactElement; readonly entries: readonly MenuEntry[] }): ReactNode {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{props.trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={styles.menu} align="end" sideOffset={4} collisionPadding={12}>
          {props.entries.map(({ label, act, blocker = null, danger = false, help }) => (
            <DropdownMenu.Item
              key={label}
              className={`round-s pointer ${styles.entry}`}
              data-danger={danger}
              disabled={blocker !== null}
              title={help}
              onSelect={act}
            >
              {label}
              {blocker !== null && <small className="block">{blocker}</small>}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
