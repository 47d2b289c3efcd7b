/** Reading and giving thumbs. */
import type { Thumb } from "../../engine/runs/rollouts/thumbs.ts";
import { thumbStore } from "../stores/thumbs.ts";
import { lab, report } from "./lab.ts";

export function readThumbs(runId: string): void {
  report(
    lab()
      .data.thumbs(runId)
      .then((thumbs) => thumbStore.setState({ runId, thumbs })),
  );
}

/** The same thumb again takes it back. */
export function giveThumb(runId: string, rollout: string, thumb: Thumb): void {
  const { thumbs } = thumbStore.getState();
  const next = thumbs[rollout] === thumb ? null : thumb;
  report(
    lab()
      .data.setThumb(runId, rollout, next)
      .then((all) => thumbStore.setState({ runId, thumbs: all })),
  );
}
