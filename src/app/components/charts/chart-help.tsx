import { Popover } from "radix-ui";
import type { ReactNode } from "react";
import styles from "./live-chart.module.css";
import { explainMetric, type MetricHelp } from "./metric-help.ts";

/** The "?" beside a chart's title explains each of its metrics. */
export function ChartHelp({
  title,
  metrics,
}: {
  readonly title: string;
  readonly metrics: readonly string[];
}): ReactNode {
  const texts = new Map<string, MetricHelp>();
  for (const metric of metrics) {
    const text = explainMetric(metric);
    // Both loops log the same quantity; one explanation is enough.
    if (text !== null) texts.set(metric.replace(/^loop[12]\//u, ""), text);
  }
  if (texts.size === 0) return null;
  return (
    <Popover.Root>
      <Popover.Trigger className={styles.help} aria-label={`What ${title} means`}>
        ?
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={styles.popover} sideOffset={6} collisionPadding={12}>
          <dl>
            {[...texts].map(([metric, text]) => (
              <div key={metric}>
                <dt>{metric}</dt>
                <dd>{text.meaning}</dd>
                {text.formula !== "" && (
                  <dd>
                    <code>{text.formula}</code>
                  </dd>
                )}
                {text.healthy !== "" && <dd>Healthy: {text.healthy}</dd>}
              </div>
            ))}
          </dl>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
