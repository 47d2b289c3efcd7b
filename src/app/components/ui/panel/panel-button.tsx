import { Popover } from "radix-ui";
import type { ReactNode } from "react";
import { Button } from "../button.tsx";
import { IconDown } from "../icons.tsx";
import styles from "./panel.module.css";

/** A button that opens a small panel below it; Escape and a click outside close the panel. */
export function PanelButton(props: {
  readonly label: string;
  readonly title: string;
  readonly children: ReactNode;
  readonly blocker?: string | null;
  readonly testId?: string;
  readonly arrow?: boolean;
  /** The content scrolls inside and brings its own padding. */
  readonly list?: boolean;
}): ReactNode {
  const { label, title, children, blocker = null, testId, arrow = false, list = false } = props;
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <Button className={styles.trigger ?? ""} data-testid={testId} blocker={blocker}>
          {label}
          {arrow && <IconDown />}
        </Button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className={`column-flex clip framed round-l ${styles.panel} ${list ? styles.list : styles.form}`}
          align="end"
          sideOffset={6}
          collisionPadding={12}
          aria-label={title}
        >
          {children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
