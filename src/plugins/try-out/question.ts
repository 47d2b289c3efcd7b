/** The single current try-out request. */

import { lab } from "../../app/clients/lab.ts";
import { useSession } from "../../app/stores/session.ts";
import { useTry } from "../../app/stores/try-out.ts";
import type { TowerPart } from "../../engine/policy/features.ts";
import type { TryPhase, TryTask, TryWeights } from "../../engine/session/try-out.ts";
import type { Tried, TryPicture } from "../../protocol/trainer.ts";

let stop = new AbortController();

/** Asks the loaded model about a picture; the store follows its phases. @throws LabError("cancelled") after `stopAsking` */
export async function askModel(picture: TryPicture, task: TryTask, weights: TryWeights): Promise<Tried> {
  stop = new AbortController();
  useTry.setState({ phase: "asked" });
  try {
    const { maxTiles } = useSession.getState().config;
    const onPhase = (phase: TryPhase, part?: TowerPart): void => useTry.setState({ phase, part: part ?? null });
    return await lab().trainer.tryOut(picture, task, weights, maxTiles, onPhase, stop.signal);
  } finally {
    useTry.setState({ phase: null, part: null });
  }
}

export function stopAsking(): void {
  stop.abort();
}
