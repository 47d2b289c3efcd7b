/** Questions to the model on the trainer. */
import type { TowerPart } from "../../engine/policy/features.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { askSession, type TryAnswer, type TryPhase, type TryTask } from "./answer-question.ts";
import { type TryPicture, tryPicture } from "./picture.ts";
import type { TryWeights } from "./weights.ts";

export interface Tried {
  readonly answer: TryAnswer;
  readonly seconds: number;
}

const seconds = (): number => performance.now() / 1000;

export const tryCalls = (place: () => Promise<TrainerPlace>) => ({
  /** One question about a picture. @param maxTiles upper limit of tiles; null is the model's own */
  async tryOut(
    picture: TryPicture,
    task: TryTask,
    weights: TryWeights,
    maxTiles: number | null,
    onPhase: (phase: TryPhase, part?: TowerPart) => void,
    signal: AbortSignal,
  ): Promise<Tried> {
    const { lab, rows } = await place();
    const began = seconds();
    const asked = { picture: await tryPicture(picture, rows), task, from: weights, maxTiles: maxTiles ?? undefined };
    return { answer: await askSession(lab, asked, onPhase, signal), seconds: seconds() - began };
  },
});

export type TryCalls = CallsOf<typeof tryCalls>;
