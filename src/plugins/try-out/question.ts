/** The single current try-out request. */

import { create } from "zustand";
import { pluginCalls } from "../../app/clients/lab.ts";
import { useSession } from "../../app/stores/session.ts";
import type { TowerPart } from "../../engine/policy/features.ts";
import type { TryWeights } from "../../engine/session/outside.ts";
import type { TryPhase, TryTask } from "./answer-question.ts";
import type { TryPicture } from "./picture.ts";
import type { Tried, TryCalls } from "./try-calls.ts";

interface QuestionState {
  /** Null if no question is asked. */
  readonly phase: TryPhase | "asked" | null;
  /** The part of the picture that is encoded now. */
  readonly part: TowerPart | null;
}

export const useQuestion = create<QuestionState>()(() => ({ phase: null, part: null }));

let stop = new AbortController();

/** Asks the loaded model about a picture; the store follows its phases. @throws LabError("cancelled") after `stopAsking` */
export async function askModel(picture: TryPicture, task: TryTask, weights: TryWeights): Promise<Tried> {
  stop = new AbortController();
  useQuestion.setState({ phase: "asked" });
  try {
    const { maxTiles } = useSession.getState().config;
    const onPhase = (phase: TryPhase, part?: TowerPart): void => useQuestion.setState({ phase, part: part ?? null });
    return await pluginCalls<TryCalls>("trainer").tryOut(picture, task, weights, maxTiles, onPhase, stop.signal);
  } finally {
    useQuestion.setState({ phase: null, part: null });
  }
}

export function stopAsking(): void {
  stop.abort();
}
