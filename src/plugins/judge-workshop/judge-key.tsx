/** Keys of the judge: entered, remembered on this device if the user asks for it, and restored at the next visit. */
import { useEffect } from "react";
import { create } from "zustand";
import { lab, report } from "../../app/clients/lab.ts";
import { useJudge } from "../../app/stores/judge.ts";
import { useSession } from "../../app/stores/session.ts";
import { originOf } from "../../engine/rewards/consent.ts";

/** Whether to remember the key on this device. */
export const useKeepKey = create<boolean>()(() => false);

/**
 * Storage entry of a key that the user asked to remember; separate from all other choices, so that nothing else reads
 * it.
 */
const PLACE = "sa2va-lab/judge-key";
const ORIGIN_PLACE = "sa2va-lab/judge-key-origin";

/** Hands a key to the worker that uses it, for the server of the current address only. "" forgets the key. */
export function setJudgeKey(key: string): void {
  const origin = originOf(useSession.getState().config.judgeUrl);
  if (key === "") {
    giveKey("", null);
    keepKey(false);
  } else if (origin !== null) {
    giveKey(key, origin);
    if (useKeepKey.getState()) store({ origin, key });
  }
}

function giveKey(key: string, origin: string | null): void {
  report(lab().reward.setKey(key, origin ?? ""));
  useJudge.setState({ keyOrigin: origin });
}

/** Remembers the next key that is entered on this device, or forgets the remembered one. */
export function keepKey(keep: boolean): void {
  useKeepKey.setState(keep);
  if (!keep) store(null);
}

/** Restores a remembered key when the page opens. */
export function KeyKeeper(): null {
  useEffect(recallJudgeKey, []);
  return null;
}

/** Restores a remembered key for the origin it was entered for. */
function recallJudgeKey(): void {
  try {
    const [key, origin] = [localStorage.getItem(PLACE), localStorage.getItem(ORIGIN_PLACE)];
    // A key that was stored without its origin must be entered again.
    if (key === null || origin === null) store(null);
    else {
      useKeepKey.setState(true);
      giveKey(key, origin);
    }
  } catch {
    // Storage may be refused; then nothing was remembered.
  }
}

function store(kept: { readonly key: string; readonly origin: string } | null): void {
  try {
    for (const [place, value] of [[PLACE, kept?.key] as const, [ORIGIN_PLACE, kept?.origin] as const]) {
      if (value === undefined) localStorage.removeItem(place);
      else localStorage.setItem(place, value);
    }
  } catch {
    // Private windows refuse storage; the key lasts until the page closes.
  }
}
