import type { ReactNode } from "react";
import { pluginCalls } from "../../app/clients/lab.ts";
import { useAsync } from "../../app/components/use-async.ts";
import { linkTo } from "../../app/stores/route.ts";
import { counted } from "../../app/styles/format.ts";
import type { SuiteCalls } from "./suite-calls.ts";
import { useSuite } from "./suite-store.ts";

/** Leads to the evaluation suites of this browser that were stopped; nothing without one, or while one is in progress. */
export default function StoppedSuites(): ReactNode {
  const phase = useSuite((state) => state.phase);
  const { value: stored = [] } = useAsync(phase === "idle" ? phase : null, () =>
    pluginCalls<SuiteCalls>("data").storedSuites(),
  );
  const stopped = stored.filter(({ report }) => report === null).length;
  if (stopped === 0) return null;
  return (
    <p>
      <a
        className="screen-link"
        href={linkTo({ screen: "train", tab: "held-out", part: "suites" })}
        data-testid="stopped-suites"
      >
        Continue {counted(stopped, "stopped evaluation suite")}
      </a>
    </p>
  );
}
