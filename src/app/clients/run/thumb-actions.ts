/** Reads and sets the user's thumbs. */
import type { Thumb } from "../../../engine/runs/rollouts/thumbs.ts";
import { thumbStore } from "../../stores/run/thumbs.ts";
import { lab, report } from "../lab.ts";

export function readThumbs(runId: string): void {
  report(
    lab()
      .data.thumbs(runId)
      .then((thumbs) => thumbStore.setState({ runId, thumbs })),
  );
}

/** Sets a thumb; the same thumb again removes it. The change shows at once and is undone if it cannot be stored. */
export function giveThumb(runId: string, rollout: string, thumb: Thumb): void {
  const { runId: known, thumbs } = thumbStore.getState();
  // Rollouts of other runs have the same ids.
  const { [rollout]: before, ...others } = known === runId ? thumbs : {};
  const next = before === thumb ? null : thumb;
  thumbStore.setState({ runId, thumbs: next === null ? others : { ...others, [rollout]: next } });
  const stored = lab().data.setThumb(runId, rollout, next);
  stored.catch(() => readThumbs(runId));
  report(stored.then((all) => thumbStore.setState({ runId, thumbs: all })));
}
