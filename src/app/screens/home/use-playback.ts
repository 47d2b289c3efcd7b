import { useEffect, useRef, useState } from "react";
import { aboutLoop, LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { useStepGroups, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";

/** Milliseconds for which a step is shown: long enough to read two captions. */
const STEP_MS = 3600;

export interface Playback {
  /** Step of the groups; null before the first was read. */
  readonly step: number | null;
  /** One group of each of loops 1 and 2. */
  readonly groups: readonly GroupRecord[];
  readonly playing: boolean;
  toggle(): void;
}

/** Plays the stored steps of a run over and over; a run of this page is followed instead. */
export function usePlayback(run: ViewedRun | null): Playback {
  const steps = run?.steps ?? [];
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(() => !matchMedia("(prefers-reduced-motion: reduce)").matches);
  const live = run?.live === true;
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
  if (run !== null && shown.length > 0) last.current = { runId: run.runId, groups: shown };
  const kept = last.current !== null && last.current.runId === run?.runId ? last.current.groups : [];
  return { step: kept[0]?.step ?? null, groups: kept, playing, toggle: () => setPlaying(!playing) };
}

function firstOfLoops(groups: readonly GroupRecord[]): readonly GroupRecord[] {
  return LOOP_IDS.filter((id) => aboutLoop(id).optional !== true).flatMap(
    (id) => groups.find((group) => group.loop === id) ?? [],
  );
}
