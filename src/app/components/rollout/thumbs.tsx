import type { ReactNode } from "react";
import type { RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { giveThumb, readThumbs } from "../../clients/run/thumb-actions.ts";
import { useThumbs } from "../../stores/run/thumbs.ts";
import { Button } from "../ui/button.tsx";
import { IconThumbDown, IconThumbUp } from "../ui/icons.tsx";

/** The user's rating of a rollout; the Judge screen compares rewards with it. */
export function ThumbButtons(props: { readonly runId: string; readonly rollout: RolloutRecord }): ReactNode {
  const { runId, rollout } = props;
  const thumb = useThumbs(runId, readThumbs)[rollout.id];
  return (
    <span>
      <Button
        kind={thumb === 1 ? "plain" : "quiet"}
        icon={<IconThumbUp />}
        aria-label="Thumb up"
        aria-pressed={thumb === 1}
        data-testid="thumb-up"
        onClick={() => giveThumb(runId, rollout.id, 1)}
      />
      <Button
        kind={thumb === -1 ? "plain" : "quiet"}
        icon={<IconThumbDown />}
        aria-label="Thumb down"
        aria-pressed={thumb === -1}
        data-testid="thumb-down"
        onClick={() => giveThumb(runId, rollout.id, -1)}
      />
    </span>
  );
}
