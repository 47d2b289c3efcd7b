import type { ReactNode } from "react";
import { lab } from "../clients/lab.ts";
import { linkTo } from "../stores/route.ts";
import { useSuite } from "../stores/suite.ts";
import { counted } from "../styles/format.ts";
import { useAsync } from "./use-async.ts";

/** Leads to the evaluation suites of this browser that were stopped; nothing without one, or while one is in progress. */
export function StoppedSuites(): ReactNode {
  const phase = useSuite((state) => state.phase);
  const { value: stored = [] } = useAsync(phase === "idle" ? phase : null, () => lab().data.storedSuites());
  const stopped = stored.filter(({ report }) => report === null).length;
  if (stopped === 0) return null;
  return (
    <p>
      <a className="screen-link" href={linkTo({ screen: "eval", part: "suites" })} data-testid="stopped-suites">
        Continue {counted(stopped, "stopped evaluation suite")}
      </a>
    </p>
  );
}
