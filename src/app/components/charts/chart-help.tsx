import { Popover } from "radix-ui";
import type { ReactNode } from "react";
import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";
import styles from "./live-chart.module.css";

/** The "?" beside a chart's title explains each of its metrics. */
export function ChartHelp({
  title,
  metrics,
}: {
  readonly title: string;
  readonly metrics: readonly string[];
}): ReactNode {
  const texts = new Map<string, NonNullable<ReturnType<typeof describeMetric>>>();
  for (const metric of metrics) {
    const text = describeMetric(metric);
    // Both loops log the same quantity; one explanation is enough.
    if (text !== undefined) texts.set(metric.replace(/^loop[12]\//u, ""), text);
  }
  if (texts.size === 0) return null;
  return (
    <Popover.Root>
      <Popover.Trigger className={styles.help} aria-label={`What ${title} means`}>
        ?
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={`framed surface ${styles.popover}`} sideOffset={6} collisionPadding={12}>
          <dl>
            {[...texts].map(([metric, text]) => (
              <div key={metric}>
                <dt className="bold">{metric}</dt>
                <dd className="m-0 muted">{text.meaning}.</dd>
                {text.formula !== "" && (
                  <dd className="m-0 muted">
                    <code>{text.formula}</code>
                  </dd>
                )}
                {text.healthy !== "" && <dd className="m-0 muted">Healthy: {text.healthy}.</dd>}
              </div>
            ))}
          </dl>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
