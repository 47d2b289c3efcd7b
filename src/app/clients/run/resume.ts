/** Continuing a stored run in a page that has not opened its model or its rows yet. */
import { PRESETS } from "../../../engine/config/presets.ts";
import { badInput, quote } from "../../../engine/errors.ts";
import { bytesText } from "../../../engine/plan/bytes-text.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { navigate } from "../../stores/route.ts";
import type { RunStoreState } from "../../stores/run/run.ts";
import { hasRowsOf, type SessionState, useSession } from "../../stores/session.ts";
import { about, report } from "../lab.ts";
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
export function modelOf(model: RunManifest["model"], storedModels: SessionState["storedModels"]) {
  const kept = storedModels.find(({ finished, hash }) => finished && hash === model.hash);
  if (kept !== undefined) {
    return { text: `load ${kept.name} (${bytesText(kept.bytes)})`, open: () => openStoredModel(kept.id) };
  }
  const preset = PRESETS.find(({ pocketModel: folder = "model" }) => builtInName(`pocket/${folder}`) === model.name);
  if (preset === undefined) return null;
  return { text: `load the ${model.name}`, open: () => openModel(pocketModel(preset.name)) };
}

/** Why a run has nothing to resume from, or null. @param saved steps of its complete checkpoints */
export const unsaved = (saved: readonly number[]) => (saved.length === 0 ? UNSAVED : null);

const UNSAVED =
  "This run ended before it saved a checkpoint, so it cannot continue. Start a new run with its settings (Runs → More → Use settings), or delete it";

/** What a stored run needs, compared with what is open. @param lack what it lacks itself (`unsaved`) */
export function resumeNeeds(
  { model, data }: Pick<RunManifest, "model" | "data">,
  session: SessionState = useSession.getState(),
  lack: string | null = null,
): ResumeNeeds {
  const { storedModels } = session;
  const opens: (() => Promise<void>)[] = [];
  const words: string[] = [];
  let lacking = lack ?? busyBlocker(session);
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
export function useResumeNeeds(run: Pick<RunManifest, "model" | "data"> | null, lack: string | null = null) {
  useBlocker(busyBlocker);
  const session = useSession();
  return run === null ? null : resumeNeeds(run, session, lack);
}

/** The run of this page if it was stopped before its last step; null otherwise. */
export function stoppedRun({ state, manifest, step }: RunStoreState): RunManifest | null {
  return state === "finished" && manifest !== null && step > 0 && step < manifest.config.steps ? manifest : null;
}

/**
 * Continues a stored run and shows it, after it opened what the run needs.
 * @param openRows opens the rows that only the user can open; false when none were opened, and then nothing starts
 * @param start what starts then; the run from its newest checkpoint by default
 * @throws LabError when the model cannot be opened or nothing can start; an error of the rows is listed
 */
export async function resumeAndShow(
  run: RunManifest,
  openRows: (name: string) => Promise<boolean>,
  start = () => resumeRun(run),
): Promise<void> {
  const { opens, asksRows } = resumeNeeds(run);
  const { rows: needed, name } = run.data;
  // Called at once: a browser opens its picker only within a click.
  const asked = about("run", async () => {
    if (!asksRows) return true;
    if (!(await openRows(name))) return false;
    // The engine compares them.
    const { dataInfo, rows } = useSession.getState();
    if (rows.length === needed) return true;
    const found = `${quote(dataInfo?.name ?? "")} with ${rows.length}`;
    throw badInput(
      `Run ${quote(run.title)} needs ${needed} ${needed === 1 ? "row" : "rows"} of ${quote(name)}, and ${found} was opened; it is kept as it is. Open the right files and try again`,
    );
  });
  // The model may fail as well, and both are listed.
  report(asked);
  for (const open of opens) await open();
  if (!(await asked.catch(() => false))) return;
  await start();
  navigate({ screen: "train", run: null, step: null, rollout: null });
}
