import { DropdownMenu } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import styles from "./overlays.module.css";

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
