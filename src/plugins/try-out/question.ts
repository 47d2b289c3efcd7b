/** The single current try-out request. */
import { pluginCalls } from "../../app/clients/lab.ts";
import { jobKind, startJob } from "../../app/stores/jobs.ts";
import { useSession } from "../../app/stores/session.ts";
import type { TowerPart } from "../../engine/policy/features.ts";
import type { TryPhase, TryTask } from "./answer-question.ts";
import type { TryPicture } from "./picture.ts";
import type { Tried, TryCalls } from "./try-calls.ts";
import type { TryWeights } from "./weights.ts";

interface Asking {
  readonly phase: TryPhase | "asked";
  /** The part of the picture that is encoded now. */
  readonly part: TowerPart | null;
}

export const QUESTION = jobKind<Asking, Tried>("question");

/** Asks the loaded model about a picture. @throws LabError("cancelled") when the job is stopped */
export function askModel(picture: TryPicture, task: TryTask, weights: TryWeights): Promise<Tried> {
  return startJob(QUESTION, { phase: "asked", part: null }, (signal, show) => {
    const { maxTiles } = useSession.getState().config;
    const onPhase = (phase: TryPhase, part?: TowerPart): void => show({ phase, part: part ?? null });
    return pluginCalls<TryCalls>("trainer").tryOut(picture, task, weights, maxTiles, onPhase, signal);
  });
}
