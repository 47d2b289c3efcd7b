import { type ReactNode, useEffect, useState } from "react";
import { isAsking, useConsent } from "../stores/consent.ts";
import { notifyEnd } from "../stores/run/notify.ts";
import type { RunStoreState } from "../stores/run/run.ts";
import { isActive, useRun } from "../stores/run/run.ts";
import { fixed } from "../styles/format.ts";
import { stateWord } from "./status-strip.tsx";

/** Minimum milliseconds between two spoken messages. */
const PAUSE_MS = 5000;

/** Mean reward over the groups of the newest step that has any. */
function newestReward(run: RunStoreState): number | null {
  const step = run.groups.at(-1)?.step;
  const means = run.groups.filter((group) => group.step === step).map((group) => group.rewardMean);
  const known = means.filter((mean) => Number.isFinite(mean));
  return known.length === 0 ? null : known.reduce((sum, mean) => sum + mean, 0) / known.length;
}

/** @param saved step of a requested checkpoint that has not been announced yet */
function sentence(run: RunStoreState, saved: number | null): string {
  if (run.manifest === null) return "";
  const reward = newestReward(run);
  const written = saved === null ? "" : `Checkpoint of step ${saved} written. `;
  return `${written}${run.manifest.title}: ${stateWord(run, isAsking(useConsent.getState()))}, step ${run.step} of ${run.manifest.config.steps}${
    reward === null ? "" : `, reward ${fixed(reward)}`
  }`;
}

/** Announces state changes at once and progress every tenth of the run; updates the window title. */
export function Announcer(): ReactNode {
  const [message, setMessage] = useState("");
  useEffect(() => {
    let spokenAt = Number.NEGATIVE_INFINITY;
    let timer: ReturnType<typeof setTimeout> | null = null;
    let announced = "";
    let saved = useRun.getState().lastCheckpoint;
    const speak = (): void => {
      timer = null;
      spokenAt = performance.now();
      const run = useRun.getState();
      const fresh = run.lastCheckpoint !== saved && run.lastCheckpoint?.asked === true;
      saved = run.lastCheckpoint;
      setMessage(sentence(run, fresh ? (saved?.step ?? null) : null));
    };
    const stop = useRun.subscribe((run, before) => {
      const ended = isActive(before.state) && !isActive(run.state) && run.runId === before.runId;
      if (ended && run.manifest !== null) notifyEnd(run.manifest.title, sentence(run, null));
      const steps = run.manifest?.config.steps ?? 1;
      document.title =
        run.manifest !== null && (run.state === "running" || run.state === "paused")
          ? `${run.step}/${steps} · ${fixed(newestReward(run))} – ${run.manifest.title}`
          : "sa2va-lab";
      const asked = run.lastCheckpoint?.asked === true ? run.lastCheckpoint.step : "";
      const news = `${run.state} ${Math.floor((run.step * 10) / steps)} ${asked}`;
      if (news === announced) return;
      announced = news;
      timer ??= setTimeout(speak, Math.max(0, spokenAt + PAUSE_MS - performance.now()));
    });
    return () => {
      stop();
      if (timer !== null) clearTimeout(timer);
    };
  }, []);
  return (
    <div className="visually-hidden" aria-live="polite">
      {message}
    </div>
  );
}
