/** Keys of the judge. */
import { originOf } from "../../engine/rewards/consent.ts";
import { useJudge } from "../stores/judge.ts";
import { useSession } from "../stores/session.ts";
import { lab, report } from "./lab.ts";

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
    if (useJudge.getState().keepKey) store({ origin, key });
  }
}

function giveKey(key: string, origin: string | null): void {
  report(lab().reward.setKey(key, origin ?? ""));
  useJudge.setState({ keyOrigin: origin });
}

/** Remembers the next key that is entered on this device, or forgets the remembered one. */
export function keepKey(keep: boolean): void {
  useJudge.setState({ keepKey: keep });
  if (!keep) store(null);
}

/** Restores a remembered key for the origin it was entered for. */
export function recallJudgeKey(): void {
  try {
    const [key, origin] = [localStorage.getItem(PLACE), localStorage.getItem(ORIGIN_PLACE)];
    // A key that was stored without its origin must be entered again.
    if (key === null || origin === null) store(null);
    else {
      useJudge.setState({ keepKey: true });
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
