import type { ReactNode } from "react";
import { startObstacle } from "../../clients/obstacles.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { act, actionObstacle } from "../../frame/run-actions.ts";
import { useRun } from "../../stores/run.ts";
import { useSession } from "../../stores/session.ts";
import styles from "./side.module.css";

/** The start button and, when it cannot be pressed, why. */
export function StartBar(): ReactNode {
  const busy = useRun((run) => actionObstacle("start", run.state));
  const missing = useSession(startObstacle);
  const obstacle = busy ?? missing;
  return (
    <div className={styles.start}>
      <Button
        kind="primary"
        className={styles.startButton ?? ""}
        icon={<IconPlay />}
        obstacle={obstacle}
        data-testid="start"
        onClick={() => act("start")}
      >
        Start
      </Button>
      <p className={styles.reason} data-testid="start-reason">
        {obstacle ?? "Ready to start"}
      </p>
    </div>
  );
}
