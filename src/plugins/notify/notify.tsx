/** A notification of the system when a run of this page ends, once the user has switched it on. */
import { type ReactNode, useEffect, useId } from "react";
import { create } from "zustand";
import { report } from "../../app/clients/lab.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Switch } from "../../app/components/ui/controls.tsx";
import { runSentence } from "../../app/frame/status-strip.tsx";
import { isActive, useRun } from "../../app/stores/run/run.ts";
import { remember, rememberedFlag } from "../../app/stores/saved.ts";

interface NotifyState {
  readonly on: boolean;
  /** A sentence, after the browser or the user refused. */
  readonly refused: string | null;
}

const allowed = (): boolean => typeof Notification !== "undefined" && Notification.permission === "granted";

const useNotify = create<NotifyState>()(() => ({
  on: rememberedFlag("notify", false) && allowed(),
  refused: null,
}));

/** Asks the browser for its permission when switched on. */
async function setNotify(on: boolean): Promise<void> {
  const asked = on && typeof Notification !== "undefined" && !allowed();
  if (asked) await Notification.requestPermission();
  const granted = on && allowed();
  remember("notify", granted);
  useNotify.setState({
    on: granted,
    refused: on && !granted ? "The browser refuses notifications; allow them for this page in its site settings" : null,
  });
}

/** Tells that a run ended, unless the user is looking at the page. */
export function Notifier(): ReactNode {
  useEffect(
    () =>
      useRun.subscribe((run, before) => {
        const { runId, manifest, state } = run;
        if (manifest === null || !isActive(before.state) || isActive(state) || runId !== before.runId) return;
        if (!useNotify.getState().on || (document.visibilityState === "visible" && document.hasFocus())) return;
        new Notification(manifest.title, { body: runSentence(run), tag: "sa2va-lab-run" });
      }),
    [],
  );
  return null;
}

/** Asks for a notification when a run of this page ends. */
export default function NotifySwitch({ run }: Places["curves"]): ReactNode {
  const { on, refused } = useNotify();
  const id = useId();
  if (run.source !== "live") return null;
  return (
    <span className="row wrap gap-2">
      <label className="muted" htmlFor={id}>
        Notify when a run ends
      </label>
      <Switch id={id} checked={on} onChange={(checked) => report(setNotify(checked))} />
      <span className="warn" role="status">
        {refused}
      </span>
    </span>
  );
}
