import type { ReactNode } from "react";
import { Badge } from "../../components/ui/badge.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Panel } from "../../components/ui/panel/panel.tsx";
import { formatBytes, formatCount, NONE } from "../../styles/format.ts";
import { FactList } from "./fact-list.tsx";
import type { PageFacts } from "./use-system.ts";

/** The browser: storage, processor threads, isolation. */
export function PagePanel({ facts }: { readonly facts: PageFacts }): ReactNode {
  const { usage, quota, persisted, persist } = facts;
  const share = usage === null || quota === null || quota === 0 ? null : Math.min(1, usage / quota);
  return (
    <Panel
      title="Storage and browser"
      aside={
        persisted === null ? undefined : persisted ? (
          <Badge tone="good">Storage is persistent</Badge>
        ) : (
          <Button kind="quiet" title="Otherwise the browser may clear it when disk space is low" onClick={persist}>
            Make it persistent
          </Button>
        )
      }
    >
      {share !== null && (
        <meter
          className="full-width mb-2"
          aria-label="Storage used"
          min={0}
          max={1}
          low={0.8}
          high={0.95}
          optimum={0}
          value={share}
        />
      )}
      <FactList
        testId="page-facts"
        facts={[
          ["Storage used", `${formatBytes(usage)} of ${formatBytes(quota)}`],
          ["Processor threads", formatCount(navigator.hardwareConcurrency)],
          ["Cross-origin isolation", globalThis.crossOriginIsolated ? "yes: precise timers" : "no: rounded timers"],
          ["Browser", browserName() ?? NONE],
        ]}
      />
    </Panel>
  );
}

/** Name and version that the browser reports. */
export function browserName(): string | null {
  const found = /(Edg|OPR|Firefox|Chrome|Version)\/([\d.]+)/g;
  const names: Readonly<Record<string, string>> = { Edg: "Edge", OPR: "Opera", Version: "Safari" };
  const parts = [...navigator.userAgent.matchAll(found)];
  // Chromium-based browsers list Chrome before their own name.
  const last = parts.at(-1);
  return last === undefined ? null : `${names[last[1] as string] ?? last[1]} ${last[2]}`;
}
