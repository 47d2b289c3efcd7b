import type { ReactNode } from "react";
import { linkTo } from "../../stores/route.ts";
import { Empty } from "../ui/panel/panel.tsx";
import type { ViewedRun } from "./use-viewed-run.ts";

/** Placeholder for missing rollouts. */
export function Nothing(props: {
  readonly run: ViewedRun;
  readonly loading: boolean;
  readonly problem: string | null;
  readonly filtered: boolean;
}): ReactNode {
  const { run, loading, problem, filtered } = props;
  if (run.manifest === null && run.problem !== null) return null;
  if (problem !== null) return <Empty title="Cannot read these rollouts">{problem}</Empty>;
  if (loading || run.loading) return <p className="row gap-3 muted">Reading…</p>;
  if (filtered) return <Empty title="No rollout matches the filters" />;
  if ((run.manifest?.config.mode ?? "rl") !== "rl") {
    return (
      <Empty title="A supervised run has no rollouts">
        Its <a href={linkTo({ screen: "train", tab: "held-out", run: run.place })}>held-out rows</a> have masks and
        captions
      </Empty>
    );
  }
  return <Empty title={run.live ? "Waiting for the first rollouts" : "This run has no rollouts"} />;
}
