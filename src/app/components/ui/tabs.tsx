import { Tabs as RadixTabs } from "radix-ui";
import { type ComponentProps, type ReactNode, useId, useState } from "react";
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
  const { onChange } = props;
  const id = useId();
  const tabs = props.tabs.filter((tab) => tab !== false);
  const [chosen, setChosen] = useState(tabs[0]?.id ?? "");
  const value = props.value ?? chosen;
  return (
    <RadixTabs.Root
      value={value}
      onValueChange={(next) => {
        setChosen(next);
        onChange?.(next);
      }}
    >
      <RadixTabs.List className={`flex wrap ${styles.list}`} aria-label={props.label}>
        {tabs.map((tab) => (
          <RadixTabs.Trigger key={tab.id} value={tab.id} {...tabIds(id, tab.id)} className={styles.tab}>
            {tab.label}
          </RadixTabs.Trigger>
        ))}
      </RadixTabs.List>
      <TabPanel key={value} of={id} tab={value} className="mt-3">
        {tabs.find((tab) => tab.id === value)?.content}
      </TabPanel>
    </RadixTabs.Root>
  );
}

/** What a tab has to name its panel. @param of beginning of the ids */
export const tabIds = (of: string, tab: string) => ({ id: `${of}-${tab}`, "aria-controls": `${of}-panel` });

/** The panel of the selected tab. Radix's asks for its animation when it comes, so that it is laid out at once. */
export function TabPanel(props: ComponentProps<"div"> & { readonly of: string; readonly tab: string }): ReactNode {
  const { of, tab, ...rest } = props;
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel can be reached by keyboard, as in the pattern of WAI-ARIA
  return <div role="tabpanel" tabIndex={0} id={`${of}-panel`} aria-labelledby={`${of}-${tab}`} {...rest} />;
}
