import type { ReactNode } from "react";
import { linkTo } from "../../stores/route.ts";
import { useSession } from "../../stores/session.ts";
import type { ViewedRun } from "./use-viewed-run.ts";

/** Beside the recorded run: the way back to the newest stored run. */
export function NewestRun({ run }: { readonly run: ViewedRun }): ReactNode {
  const newest = useSession((session) => session.newest);
  const offered = useSession((session) => session.interrupted?.manifest.id);
  if (!run.recorded || newest === null || newest.id === offered) return null;
  return (
    <a className="screen-link anywhere" href={linkTo({ screen: "train", run: newest.id, step: null, rollout: null })}>
      Your newest run: {newest.title}
    </a>
  );
}
