import type { DataCalls } from "../../../../workers/data.ts";
import { badInput } from "../../../engine/errors.ts";
import { keepFolder } from "../../../engine/storage/kept-folders.ts";
import type { FolderRef, PickedFile } from "../../../protocol/common.ts";
import type { Calls } from "../../../protocol/rpc.ts";
import { openAdapter, openCaptioner } from "../../clients/adapters.ts";
import { about, lab, report } from "../../clients/lab.ts";
import { openData, openModel } from "../../clients/loading.ts";
import { jobKind, startJob } from "../../stores/jobs.ts";
import { outdateRun } from "../../stores/reads.ts";
import { navigate } from "../../stores/route.ts";
import { forgetMetrics } from "../../stores/run/metrics.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { addElsewhere, addProblem, dropProblems, settleProblems, useSession } from "../../stores/session.ts";

/** A download cache holds links, which browsers leave out of a folder. */
const NO_FILES =
  "Nothing was opened: the folder holds no files. Links do not count: a browser cannot follow those of a download " +
  "cache. Download into a separate folder (hf download REPOSITORY --local-dir FOLDER) and open that folder";

/** Whether rows among the files are open, once all are read; an error of theirs is listed. */
const NO_ROWS = { rows: Promise.resolve(false) };

/**
 * Opens files as runs, data, a checkpoint or an adapter; `expected` is the kind that the clicked button
 * names. Runs open first. Runs, data and a checkpoint open independently, each with its own problem; an
 * adapter opens after its checkpoint.
 * @param handles open the same files again after a reload
 * @returns once opening has begun
 * @throws LabError("bad-input") when the files are not of the expected kind
 */
export function takeFiles(
  files: readonly PickedFile[],
  expected: Expected,
  handles: readonly FileSystemHandle[] = [],
): Promise<typeof NO_ROWS> {
  const cause = expected === "any" ? "data" : expected === "model" ? "model" : "adapter";
  // These files are another attempt.
  settleProblems(cause);
  return about(cause, () => sortAndOpen(files, expected, handles));
}

type Expected = "model" | "adapter" | "captioner" | "any";

async function sortAndOpen(
  files: readonly PickedFile[],
  expected: Expected,
  handles: readonly FileSystemHandle[],
): Promise<typeof NO_ROWS> {
  if (!files.some(isVisible)) throw badInput(NO_FILES);
  const others = expected === "any" ? await importRuns(files) : files;
  if (!others.some(isVisible)) return NO_ROWS;
  const { models, adapters, shards } = classifyPicked(others);
  if (expected === "adapter" || expected === "captioner") {
    const adapter = onlyOne(adapters, "adapter");
    if (adapter === undefined) {
      throw badInput("These files are not an adapter: adapter_config.json is missing. Nothing was changed");
    }
    await (expected === "adapter" ? openAdapter(adapter) : openCaptioner(adapter));
    return NO_ROWS;
  }
  // A folder that is opened again later is that of the data and the model alone.
  const kept = handles.filter(({ name }) => others.some(({ path }) => isInside(path, name)));
  if (expected === "model" && models.length === 0)
    throw badInput("These files are not a checkpoint folder: config.json is missing. The open model is kept");
  const loading = openModels({ models, adapters: expected === "model" ? [] : adapters }, kept);
  // Setup names the open adapter, other screens do not.
  const alone = expected === "any" && adapters.length > 0 && shards.length === 0;
  report(alone ? loading.then(() => navigate({ screen: "setup" })) : loading);
  if (expected === "model" || shards.length === 0) return NO_ROWS;
  // Refused files change neither the rows nor the screen.
  const leads = !isActive(useRun.getState().state);
  const data = openData(shards, null, () => leads && navigate({ screen: "data", row: null }));
  const keep = async (name: string): Promise<void> => {
    if (useSession.getState().rows.length > 0) await keepFolder({ kind: "data", name, handles: kept, at: Date.now() });
  };
  report(data.then(keep));
  return { rows: data.then(() => true).catch(() => false) };
}

/** Opens a checkpoint, and keeps its folder unless it was closed meanwhile; then the adapter that it was dropped with. */
async function openModels(found: Omit<Classified, "shards">, handles: readonly FileSystemHandle[]): Promise<void> {
  const [model, adapter] = [onlyOne(found.models, "checkpoint"), onlyOne(found.adapters, "adapter")];
  if (model !== undefined) {
    await openModel(model);
    const name = useSession.getState().model?.name;
    if (name !== undefined) await keepFolder({ kind: "model", name, handles, at: Date.now() });
  }
  if (adapter !== undefined) await openAdapter(adapter);
}

/** Opens the runs among the files, and returns the other files; a run that cannot be opened is listed. */
async function importRuns(files: readonly PickedFile[]): Promise<readonly PickedFile[]> {
  dropProblems(({ cause }) => cause?.startsWith("import ") === true);
  const [folders, loose] = foldersWith("run.json", "run", files);
  const isRun = (folder: PickedFolder): Promise<boolean> => {
    const asked = about(`import ${folder.name}`, () => importRun(folder));
    report(asked);
    return asked.catch(() => true);
  };
  for (const folder of folders) await isRun(folder);
  const others: PickedFile[] = [];
  for (const file of loose) {
    const { path: name } = file;
    if (!/\.zip$/i.test(name) || !(await isRun({ kind: "picked", name, files: [file] }))) others.push(file);
  }
  return others;
}

/** Dropped files that are read as a run, by their name: a long run takes a while, because all its files are checked first. */
export const IMPORT = jobKind<string, Awaited<ReturnType<Calls<DataCalls>["importRun"]>>>("import");

/**
 * Opens the run in dropped files, or adds its steps to the stored run that they continue.
 * @returns false when they hold none
 * @throws LabError when it is damaged, or stored with other steps
 */
async function importRun(folder: PickedFolder): Promise<boolean> {
  const { name } = folder;
  const found = await startJob(IMPORT, name, () => lab().data.importRun(folder));
  if (found === null) return false;
  const { id, stored, known } = found;
  if (known) {
    const message = `The run in ${name} is stored in this browser already, with all of its steps; nothing was changed, and the stored run is shown`;
    addProblem({ code: "bad-input", message, subject: id, cause: `import ${name}` });
  }
  if (!stored) addElsewhere(id, "dropped");
  forgetMetrics(id);
  outdateRun(id);
  const place = stored && !known ? ({ screen: "runs", run: null } as const) : ({ screen: "train", run: id } as const);
  navigate({ ...place, step: null, rollout: null });
  return true;
}

type PickedFolder = Extract<FolderRef, { readonly kind: "picked" }>;

function onlyOne(found: readonly PickedFolder[], kind: string): PickedFolder | undefined {
  const [only, second] = found;
  if (second === undefined) return only;
  throw badInput(`Several ${kind}s were dropped (${found.map(({ name }) => name).join(", ")}). Open one at a time`);
}

interface Classified {
  /** Folders with a config.json, paths relative to the folder. The caller handles more than one. */
  readonly models: readonly PickedFolder[];
  /** Folders with an adapter_config.json that lie in no model's folder. */
  readonly adapters: readonly PickedFolder[];
  /** One entry per top-level folder, or one for all other loose files; may be empty. */
  readonly shards: readonly PickedFolder[];
}

/** Whether data of this name were picked as files, not as a folder (`classifyPicked`). */
export const isOfFiles = (name: string): boolean => /^\d+ files$|\.\w+$/.test(name);

/** Sorts files into checkpoints, adapters and shards; hidden files such as .DS_Store are left out. */
export function classifyPicked(files: readonly PickedFile[]): Classified {
  const visible = files.filter(isVisible);
  const [models, others] = foldersWith("config.json", "checkpoint", visible);
  const [adapters, rest] = foldersWith("adapter_config.json", "adapter", others);
  const tops = [...new Set(rest.map(({ path }) => topOf(path)))];
  const shards = tops.map((top) => {
    const own = rest.filter(({ path }) => topOf(path) === top);
    const name = top || (own.length === 1 ? baseName(own[0]?.path ?? "") : `${own.length} files`);
    return picked(name, top, own);
  });
  return { models, adapters, shards };
}

/** The folders that hold a file, and the files outside them. @param loose name of files in no folder */
function foldersWith(file: string, loose: string, files: readonly PickedFile[]): [PickedFolder[], PickedFile[]] {
  const homes = files.filter(({ path }) => baseName(path) === file).map(({ path }) => folderOf(path));
  // A folder inside another of these folders belongs to the outer one.
  const roots = homes.filter((home) => !homes.some((other) => other !== home && isInside(home, other)));
  const rest = files.filter(({ path }) => !roots.some((root) => isInside(folderOf(path), root)));
  return [roots.map((root) => picked(lastPart(root) || loose, root, files)), rest];
}

function picked(name: string, root: string, files: readonly PickedFile[]): PickedFolder {
  const inside = files.filter(({ path }) => isInside(folderOf(path), root));
  const cut = root === "" ? 0 : root.length + 1;
  return { kind: "picked", name, files: inside.map(({ path, file }) => ({ path: path.slice(cut), file })) };
}

/** Neither hidden nor in a hidden folder. */
export const isVisible = ({ path }: PickedFile): boolean => !path.split("/").some((part) => part.startsWith("."));

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const lastPart = (folder: string): string => folder.slice(folder.lastIndexOf("/") + 1);
const topOf = (path: string): string => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "");
const isInside = (folder: string, root: string): boolean =>
  root === "" || folder === root || folder.startsWith(`${root}/`);
