import { useCallback, useEffect, useState } from "react";
import type { SystemReport } from "../../../protocol/trainer.ts";
import { lab, report } from "../../clients/lab.ts";
import { isActive, useRun } from "../../stores/run.ts";
import { useSession } from "../../stores/session.ts";

/** How often a run under way is asked what it holds. */
const BEAT_MS = 2000;

/** What is held on the device: asked again with every step, on a beat while a run goes on, and when a model comes or goes. */
export function useSystemReport(): SystemReport | null {
  const ready = useSession((session) => session.gpu !== null && session.gpuError === null);
  const model = useSession((session) => session.model);
  const loading = useSession((session) => session.modelProgress !== null);
  const state = useRun((run) => run.state);
  const step = useRun((run) => run.step);
  const [found, setFound] = useState<SystemReport | null>(null);
  const active = isActive(state);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every one of these changes what is held
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
  /** Bytes of this page's private storage in use, and what the browser would give; null where it does not say. */
  readonly usage: number | null;
  readonly quota: number | null;
  /** Whether the browser has promised not to clear it when disk space runs short. */
  readonly persisted: boolean | null;
  /** Asks for that promise. */
  readonly persist: () => void;
}

/** Storage of the page, asked again with every checkpoint. */
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
  // biome-ignore lint/correctness/useExhaustiveDependencies: a checkpoint takes storage
  useEffect(() => report(read()), [read, checkpoint]);
  const persist = useCallback(() => report(navigator.storage.persist().then(read)), [read]);
  return { ...storage, persist };
}
