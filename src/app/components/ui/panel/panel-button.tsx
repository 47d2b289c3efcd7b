import { Popover } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import { Button } from "../button.tsx";
import { IconDown } from "../icons.tsx";
import styles from "./panel.module.css";

/** A small panel below its trigger, which takes a ref; Escape and a click outside close it. */
export function Popup(props: {
  readonly trigger: ReactElement;
  readonly title: string;
  readonly children: ReactNode;
  /** The content scrolls inside and brings its own padding. */
  readonly list?: boolean;
}): ReactNode {
  return (
    <Popover.Root>
      <Popover.Trigger asChild>{props.trigger}</Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className={`column-flex clip framed round-l ${styles.panel} ${props.list === true ? styles.list : styles.form}`}
          align="end"
          sideOffset={6}
          collisionPadding={12}
          aria-label={props.title}
        >
          {props.children}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** A button that opens a small panel below it. */
export function PanelButton(props: {
  readonly label: string;
  readonly title: string;
  readonly children: ReactNode;
  readonly blocker?: string | null;
  readonly testId?: string;
  readonly arrow?: boolean;
  readonly list?: boolean;
}): ReactNode {
  const { label, blocker = null, testId, arrow = false, ...rest } = props;
  const button = (
    <Button className={styles.trigger} data-testid={testId} blocker={blocker}>
      {label}
      {arrow && <IconDown />}
    </Button>
  );
  return <Popup trigger={button} {...rest} />;
}
