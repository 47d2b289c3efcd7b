import { Tabs as RadixTabs } from "radix-ui";
import type { ReactNode } from "react";
import styles from "./tabs.module.css";

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly content: ReactNode;
}

/** Tabs, uncontrolled unless `value` is given. @param props.tabs false for one that is left out */
export function Tabs(props: {
  readonly label: string;
  readonly tabs: readonly (Tab | false)[];
  readonly value?: string;
  readonly onChange?: (id: string) => void;
}): ReactNode {
  const { value, onChange } = props;
  const tabs = props.tabs.filter((tab) => tab !== false);
  return (
    <RadixTabs.Root
      {...(value === undefined ? { defaultValue: tabs[0]?.id ?? "" } : { value })}
      {...(onChange === undefined ? {} : { onValueChange: onChange })}
    >
      <RadixTabs.List className={`flex wrap ${styles.list}`} aria-label={props.label}>
        {tabs.map((tab) => (
          <RadixTabs.Trigger key={tab.id} value={tab.id} className={styles.tab}>
            {tab.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      {tabs.map((tab) => (
        <RadixTabs.Content key={tab.id} value={tab.id} className="mt-3">
          {tab.content}
        </RadixTabs.Content>
      ))}
    </RadixTabs.Root>
  );
}
