/** A notification of the system when a run of this page ends, once the user has switched it on. */
import { create } from "zustand";
import { remember, rememberedFlag } from "../saved.ts";

interface NotifyState {
  readonly on: boolean;
  /** A sentence, after the browser or the user refused. */
  readonly refused: string | null;
}

const allowed = (): boolean => typeof Notification !== "undefined" && Notification.permission === "granted";

export const useNotify = create<NotifyState>()(() => ({
  on: rememberedFlag("notify", false) && allowed(),
  refused: null,
}));

/** Asks the browser for its permission when switched on. */
export async function setNotify(on: boolean): Promise<void> {
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
export function notifyEnd(title: string, text: string): void {
  if (!useNotify.getState().on || (document.visibilityState === "visible" && document.hasFocus())) return;
  new Notification(title, { body: text, tag: "sa2va-lab-run" });
}
