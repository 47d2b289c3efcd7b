/** The single current try-out request. */

import type { TryTask, TryWeights } from "../../engine/session/try-out.ts";
import type { Tried, TryPicture } from "../../protocol/trainer.ts";
import { useTry } from "../stores/try-out.ts";
import { lab } from "./lab.ts";

let stop = new AbortController();

/** Asks the loaded model about a picture; the store follows its phases. @throws LabError("cancelled") after `stopAsking` */
export async function askModel(picture: TryPicture, task: TryTask, weights: TryWeights): Promise<Tried> {
  stop = new AbortController();
  useTry.setState({ phase: "asked" });
  try {
    return await lab().trainer.tryOut(picture, task, weights, (phase) => useTry.setState({ phase }), stop.signal);
  } finally {
    useTry.setState({ phase: null });
  }
}

export function stopAsking(): void {
  stop.abort();
}
