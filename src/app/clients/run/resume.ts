/** Continuing a stored run in a page that has not opened its model or its rows yet. */
import { PRESETS } from "../../../engine/config/presets.ts";
import { quote } from "../../../engine/errors.ts";
import { bytesText } from "../../../engine/plan/bytes-text.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { navigate } from "../../stores/route.ts";
import type { RunStoreState } from "../../stores/run/run.ts";
import { addProblem, hasRowsOf, type SessionState, useSession } from "../../stores/session.ts";
import { report } from "../lab.ts";
import { builtInName, builtInRows, openBuiltInRows, openModel, openStoredModel, pocketModel } from "../loading.ts";
import { busyBlocker, loadedBlocker, useBlocker } from "./blockers.ts";
import { resumeRun } from "./start-run.ts";

/** What a stored run needs before it continues. */
interface ResumeNeeds {
  /** What its button says, e.g. "Load Sa2VA-1B (2.40 GB) and resume". */
  readonly label: string;
  /** Opens what the page can open by itself, one after the other. */
  readonly opens: readonly (() => Promise<void>)[];
  /** Why the run cannot continue, or null. */
  readonly blocker: string | null;
  /** Whether all that is missing is a folder of rows, which only the user can open. */
  readonly asksRows: boolean;
}

/** A stored conversion with the run's weights, else the pocket model of its name. */
function modelOf(model: RunManifest["model"], storedModels: SessionState["storedModels"]) {
  const kept = storedModels.find(({ finished, hash }) => finished && hash === model.hash);
  if (kept !== undefined) {
    return { text: `load ${kept.name} (${bytesText(kept.bytes)})`, open: () => openStoredModel(kept.id) };
  }
  const preset = PRESETS.find(({ pocketModel: folder = "model" }) => builtInName(`pocket/${folder}`) === model.name);
  if (preset === undefined) return null;
  return { text: `load the ${model.name}`, open: () => openModel(pocketModel(preset.name)) };
}

/** What a stored run needs, compared with what is open. */
export function resumeNeeds(
  { model, data }: Pick<RunManifest, "model" | "data">,
  session: SessionState = useSession.getState(),
): ResumeNeeds {
  const { storedModels } = session;
  const opens: (() => Promise<void>)[] = [];
  const words: string[] = [];
  let lacking = busyBlocker(session);
  if (session.model?.hash !== model.hash) {
    const found = modelOf(model, storedModels);
    if (found === null) lacking ??= `This run was trained on ${model.name}; open that model's folder first`;
    else {
      opens.push(found.open);
      words.push(found.text);
    }
  }
  const sameRows = hasRowsOf(data, session);
  const path = sameRows ? undefined : builtInRows(data.name);
  const asksRows = !sameRows && path === undefined;
  if (path !== undefined) opens.push(() => openBuiltInRows(path));
  if (!sameRows) words.push(`open ${data.name}`);
  if (words.length === 0) return { label: "Resume", opens, blocker: lacking ?? loadedBlocker(session), asksRows };
  const [first = "", ...others] = words;
  const text = [`${first.charAt(0).toUpperCase()}${first.slice(1)}`, ...others].join(", ");
  return { label: `${text} and resume`, opens, blocker: lacking, asksRows };
}

/** The same, as it changes; null for no run. */
export function useResumeNeeds(run: Pick<RunManifest, "model" | "data"> | null): ResumeNeeds | null {
  useBlocker(busyBlocker);
  const session = useSession();
  return run === null ? null : resumeNeeds(run, session);
}

/** The run of this page if it was stopped before its last step; null otherwise. */
export function stoppedRun({ state, manifest, step }: RunStoreState): RunManifest | null {
  return state === "finished" && manifest !== null && step > 0 && step < manifest.config.steps ? manifest : null;
}

/** The run that continues once the user has opened its rows. */
let awaited: { readonly run: RunManifest; readonly resume: () => Promise<void> } | null = null;

/**
 * Continues a stored run and shows it, after it opened what the run needs. Where only the user can open the rows,
 * `openRows` opens or asks for their folder, and the run continues when it is read.
 * @param steps its new length; unchanged by default
 * @param from step of an earlier checkpoint; the steps after it are dropped
 * @throws LabError when it cannot
 */
export async function resumeAndShow(
  run: RunManifest,
  openRows: (name: string) => Promise<void>,
  steps?: number,
  from?: number,
): Promise<void> {
  const { opens, asksRows } = resumeNeeds(run);
  const resume = async (): Promise<void> => {
    await resumeRun(run, steps, from);
    navigate({ screen: "train", run: null, step: null, rollout: null });
  };
  // Called at once: a browser opens its picker only within a click.
  if (asksRows) report(openRows(run.data.name));
  const opened = (async () => {
    for (const open of opens) await open();
  })();
  // The rows may be open before the model is.
  awaited = asksRows ? { run, resume: () => opened.then(resume) } : null;
  try {
    await opened;
  } catch (thrown) {
    awaited = null;
    throw thrown;
  }
  if (!asksRows) await resume();
}

/** Continues the awaited run once as many rows are open, which the engine compares; others end the wait. Called once. */
export function followAwaited(): void {
  useSession.subscribe((now, before) => {
    if (awaited === null || now.dataInfo === before.dataInfo || now.dataInfo === null) return;
    const { run, resume } = awaited;
    awaited = null;
    if (now.rows.length === run.data.rows) return report(resume());
    const found = `${quote(now.dataInfo.name)} with ${now.rows.length}`;
    const message = `Run ${quote(run.title)} needs ${run.data.rows} ${run.data.rows === 1 ? "row" : "rows"} of ${quote(run.data.name)}, and ${found} was opened; it is kept as it is. Open the right files and resume it again`;
    addProblem({ code: "bad-input", cause: "run", message });
  });
}
