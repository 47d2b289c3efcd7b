import { type ReactNode, useEffect, useState } from "react";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { lab, report } from "../../clients/lab.ts";
import { builtInRows, DEMO_SETS, openBuiltInRows } from "../../clients/loading.ts";
import { useRoute } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { Button } from "../ui/button.tsx";
import { IconClose } from "../ui/icons.tsx";
import { useAsync } from "../use-async.ts";
import { useRowsOpen } from "../use-rows-open.ts";
import { type KeptFolder, keptFolders } from "./kept-folders.ts";
import styles from "./pickers.module.css";
import { openKept, openRowsOf } from "./pickers.tsx";

const manifests = new Map<string, Promise<RunManifest>>();

/** The manifest of a run that is shown; kept, because its data does not change. */
function manifestOf(runId: string): Promise<RunManifest> {
  const known =
    manifests.get(runId) ??
    lab()
      .data.run(runId)
      .then(({ run }) => run.manifest);
  manifests.set(runId, known);
  known.catch(() => manifests.delete(runId));
  return known;
}

/**
 * Says once that the rows of the shown run are not open, with a button that opens them. Rows that come with the page open
 * by themselves, unless they would replace rows of the user or those of a run in progress.
 */
export function MissingData(): ReactNode {
  const screen = useRoute((route) => route.screen);
  const asked = useRoute((route) => route.run);
  const live = useRun((run) => run.runId);
  const busy = useRun(({ state }) => isActive(state));
  const recorded = useSession((session) => session.recordedRun);
  const opening = useSession((session) => session.opening !== null);
  // At the start nothing is open yet, and nothing is missing.
  const name = useSession(({ dataInfo }) => dataInfo?.name);
  const own = name !== undefined && builtInRows(name) === undefined;
  const runId = screen === "train" ? (asked ?? live ?? recorded ?? null) : null;
  const manifest = useAsync(runId, manifestOf).value ?? null;
  const open = useRowsOpen(manifest);
  const [hidden, setHidden] = useState<string | null>(null);
  const missing = manifest !== null && open === false && !opening && name !== undefined ? manifest.data.name : null;
  const builtIn = missing === null ? undefined : runId === recorded ? DEMO_SETS[0].rows : builtInRows(missing);
  const alone = builtIn !== undefined && asked !== null && !own && !busy;
  useEffect(() => {
    if (alone && builtIn !== undefined) report(openBuiltInRows(builtIn));
  }, [alone, builtIn]);
  if (missing === null || alone || hidden === runId) return null;
  return (
    <Notice testId="missing-data" onDismiss={() => setHidden(runId)}>
      <p>
        The rows of this run, <b>{missing}</b>, are not open: its pictures are small or missing
      </p>
      <Button
        blocker={busy ? "A run is in progress with other rows" : null}
        onClick={() => report(builtIn === undefined ? openRowsOf(missing) : openBuiltInRows(builtIn))}
      >
        Open {missing}
      </Button>
    </Notice>
  );
}

/** Offers the data and the model that the user opened last. */
export function LastTime(): ReactNode {
  const [hidden, setHidden] = useState(false);
  const kept = useAsync("folders", keptFolders).value ?? [];
  const name = useSession(({ dataInfo }) => dataInfo?.name);
  const model = useSession((session) => session.model?.name);
  const waits = useSession(({ opening, modelProgress }) => opening !== null || modelProgress !== null);
  const busy = useRun(({ state }) => isActive(state));
  const newest = (kind: KeptFolder["kind"]): KeptFolder | undefined => kept.find((one) => one.kind === kind);
  const [data, weights] = [newest("data"), newest("model")];
  const offered = [data?.name === name ? undefined : data, weights?.name === model ? undefined : weights].flatMap(
    (one) => one ?? [],
  );
  // Only at the start: rows of the user take the place of the offer.
  const own = name !== undefined && builtInRows(name) === undefined;
  if (hidden || busy || waits || own || offered.length === 0) return null;
  const names = offered.map((one) => one.name).join(" and ");
  const open = async (): Promise<void> => {
    for (const one of offered) await openKept(one);
  };
  return (
    <Notice testId="last-time" onDismiss={() => setHidden(true)}>
      <p>
        Last time: <b>{names}</b>
      </p>
      <Button onClick={() => report(open())}>Open {names}</Button>
    </Notice>
  );
}

function Notice(props: {
  readonly testId: string;
  readonly children: ReactNode;
  readonly onDismiss: () => void;
}): ReactNode {
  return (
    <div className={`flex wrap gap-2 align-centre ${styles.notice}`} role="status" data-testid={props.testId}>
      {props.children}
      <Button kind="quiet" icon={<IconClose />} aria-label="Dismiss" title="Dismiss" onClick={props.onDismiss} />
    </div>
  );
}
