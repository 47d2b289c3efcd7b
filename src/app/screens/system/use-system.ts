import { useCallback, useEffect, useState } from "react";
import type { SystemReport } from "../../../engine/session/memory-report.ts";
import { lab, report } from "../../clients/lab.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";

/** Milliseconds between two memory reports during a run. */
const BEAT_MS = 2000;

/** Memory held on the device: updated after every step, at an interval during a run, and when the model changes. */
export function useSystemReport(): SystemReport | null {
  const ready = useSession((session) => session.gpu !== null && session.gpuError === null);
  const model = useSession((session) => session.model);
  const loading = useSession((session) => session.modelProgress !== null);
  const state = useRun((run) => run.state);
  const step = useRun((run) => run.step);
  const [found, setFound] = useState<SystemReport | null>(null);
  const active = isActive(state);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each of these changes the memory held
  useEffect(() => {
    if (!ready) return;
    let current = true;
    const ask = (): void =>
      report(
        lab()
          .trainer.system()
          .then((answer) => {
            if (current) setFound(answer);
          }),
      );
    ask();
    const timer = active ? setInterval(ask, BEAT_MS) : undefined;
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [ready, model, loading, state, step, active]);
  return ready ? found : null;
}

export interface PageFacts {
  /** Bytes of this page's private storage in use, and its quota; null if the browser does not report them. */
  readonly usage: number | null;
  readonly quota: number | null;
  /** Whether the storage is persistent: the browser does not clear it when disk space is low. */
  readonly persisted: boolean | null;
  /** Requests persistent storage. */
  readonly persist: () => void;
}

/** Storage of the page, updated after every checkpoint. */
export function usePageFacts(): PageFacts {
  const checkpoint = useRun((run) => run.lastCheckpoint?.at);
  const [storage, setStorage] = useState<Omit<PageFacts, "persist">>({ usage: null, quota: null, persisted: null });
  const read = useCallback(async () => {
    const [{ usage, quota }, persisted] = await Promise.all([
      navigator.storage.estimate(),
      navigator.storage.persisted(),
    ]);
    setStorage({ usage: usage ?? null, quota: quota ?? null, persisted });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a checkpoint uses storage
  useEffect(() => report(read()), [read, checkpoint]);
  const persist = useCallback(() => report(navigator.storage.persist().then(read)), [read]);
  return { ...storage, persist };
}
