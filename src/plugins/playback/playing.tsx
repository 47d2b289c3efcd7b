/** On Home: the two loops on real rows, played over a stored run or following the run of this page. */
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { NewestRun } from "../../app/components/rollout/time-line.tsx";
import { titleOf, useStepGroups, type ViewedRun } from "../../app/components/rollout/use-viewed-run.ts";
import { Button, PlaceLink } from "../../app/components/ui/button.tsx";
import { IconPause, IconPlay } from "../../app/components/ui/icons.tsx";
import { linkTo } from "../../app/stores/route.ts";
import { useSession } from "../../app/stores/session.ts";
import { formatCount } from "../../app/styles/format.ts";
import { aboutLoop, LOOP_IDS } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import { LoopPicture } from "./loop-picture.tsx";

/** Milliseconds for which a step is shown: long enough to read two captions. */
const STEP_MS = 3600;

interface Playback {
  /** Step of the groups; null before the first was read. */
  readonly step: number | null;
  /** One group of each of loops 1 and 2. */
  readonly groups: readonly GroupRecord[];
  readonly playing: boolean;
  toggle(): void;
}

/** Plays the stored steps of a run over and over; a run of this page is followed instead. */
function usePlayback(run: ViewedRun): Playback {
  const { steps } = run;
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(() => !matchMedia("(prefers-reduced-motion: reduce)").matches);
  const live = run.source === "live";
  const count = steps.length;
  useEffect(() => {
    if (!playing || live || count < 2) return;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") setAt((now) => (now + 1) % count);
    }, STEP_MS);
    return () => clearInterval(timer);
  }, [playing, live, count]);
  const wanted = (live ? steps.at(-1) : steps[Math.min(at, count - 1)]) ?? null;
  const { groups } = useStepGroups(run, wanted);
  const shown = firstOfLoops(groups);
  // The last picture stays until the next one is read.
  const last = useRef<{ readonly runId: string; readonly groups: readonly GroupRecord[] } | null>(null);
  if (shown.length > 0) last.current = { runId: run.runId, groups: shown };
  const kept = last.current !== null && last.current.runId === run.runId ? last.current.groups : [];
  return { step: kept[0]?.step ?? null, groups: kept, playing, toggle: () => setPlaying(!playing) };
}

function firstOfLoops(groups: readonly GroupRecord[]): readonly GroupRecord[] {
  return LOOP_IDS.filter((id) => aboutLoop(id).optional !== true).flatMap(
    (id) => groups.find((group) => group.loop === id) ?? [],
  );
}

export default function Playing({ run, onStep }: Places["playback"]): ReactNode {
  const { step, groups, playing, toggle } = usePlayback(run);
  useEffect(() => onStep(step), [step, onStep]);
  const recorded = useSession((session) => session.recordedRun === run.runId);
  const steps = run.manifest?.config.steps ?? null;
  // A supervised run has steps without rollouts.
  const supervised = (run.manifest?.config.mode ?? "rl") !== "rl";
  const shown = run.steps.length > 0 && !supervised;
  return (
    <section className="grid gap-3" aria-label="The two loops">
      <header className="row wrap gap-2-3 between">
        <p className="muted" data-testid="home-step">
          {recorded ? "Recorded run" : run.source === "live" ? "Your run" : titleOf(run)}, step{" "}
          {formatCount(shown ? step : run.metrics.steps.at(-1))} of {formatCount(steps)}
        </p>
        <div className="row wrap gap-2">
          <NewestRun run={run} />
          {run.source !== "live" && shown && (
            <Button kind="quiet" icon={playing ? <IconPause /> : <IconPlay />} data-testid="home-play" onClick={toggle}>
              {playing ? "Pause" : "Play"}
            </Button>
          )}
          <PlaceLink to={{ screen: "train", run: run.place }}>All curves and rollouts</PlaceLink>
        </div>
      </header>
      {supervised && (
        <p className="muted">
          A supervised run has no rollouts; its{" "}
          <a href={linkTo({ screen: "train", tab: "held-out", run: run.place })}>held-out rows</a> have masks and
          captions
        </p>
      )}
      {groups.map((group) => (
        <LoopPicture key={group.loop} group={group} runId={run.place} />
      ))}
    </section>
  );
}
