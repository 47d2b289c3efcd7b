import { badInput } from "../../../engine/errors.ts";
import type { FolderRef, PickedFile } from "../../../protocol/common.ts";
import { openAdapter, openCaptioner } from "../../clients/adapters.ts";
import { report } from "../../clients/lab.ts";
import { openData, openModel } from "../../clients/loading.ts";
import { importRun } from "../../clients/run/follow-run.ts";
import { navigate } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { classifyPicked, isVisible, runFolders } from "./classify.ts";
import { type KeptFolder, keepFolder } from "./kept-folders.ts";

/** A download cache holds links, which browsers leave out of a folder. */
const NO_FILES =
  "Nothing was opened: the folder holds no files. Links do not count: a browser cannot follow those of a download " +
  "cache. Download into a separate folder (hf download REPOSITORY --local-dir FOLDER) and open that folder";

/**
 * Opens files as runs, data, a checkpoint or an adapter; `expected` is the kind that the clicked button
 * names. Runs open first. Data and a checkpoint open independently, each with its own problem; an
 * adapter opens after its checkpoint.
 * @param handles open the same files again after a reload
 * @throws LabError("bad-input") when the files are not of the expected kind
 */
export async function takeFiles(
  files: readonly PickedFile[],
  expected: "model" | "adapter" | "captioner" | "any",
  handles: readonly FileSystemHandle[] = [],
): Promise<void> {
  if (!files.some(isVisible)) throw badInput(NO_FILES);
  const others = expected === "any" ? await importRuns(files) : files;
  if (!others.some(isVisible)) return;
  const { models, adapters, shards } = classifyPicked(others);
  if (expected === "adapter" || expected === "captioner") {
    const adapter = onlyOne(adapters, "adapter");
    if (adapter === undefined) {
      throw badInput("These files are not an adapter: adapter_config.json is missing. Nothing was changed");
    }
    return await (expected === "adapter" ? openAdapter(adapter) : openCaptioner(adapter));
  }
  const model = onlyOne(models, "checkpoint");
  if (expected === "model") {
    if (model !== undefined) return report(openModel(model).then(() => keepModel(handles)));
    throw badInput("These files are not a checkpoint folder: config.json is missing. The open model is kept");
  }
  const adapter = onlyOne(adapters, "adapter");
  // An adapter is read into the model it was dropped with.
  const opened = model === undefined ? Promise.resolve() : openModel(model).then(() => keepModel(handles));
  report(opened.then(() => (adapter === undefined ? undefined : openAdapter(adapter))));
  if (shards.length > 0) {
    // Refused files change neither the rows nor the screen.
    const leads = !isActive(useRun.getState().state);
    const data = openData(shards, null, () => leads && navigate({ screen: "data", row: null }));
    report(data.then(() => keep("data", useSession.getState().dataInfo?.name, handles)));
  }
}

const keepModel = (handles: readonly FileSystemHandle[]): Promise<void> =>
  keep("model", useSession.getState().model?.name, handles);

/** Keeps what was opened under its name, unless other files have replaced it. */
async function keep(
  kind: KeptFolder["kind"],
  name: string | undefined,
  handles: readonly FileSystemHandle[],
): Promise<void> {
  if (name !== undefined) await keepFolder({ kind, name, handles, at: Date.now() });
}

/** Opens the runs among the files, and returns the other files. */
async function importRuns(files: readonly PickedFile[]): Promise<readonly PickedFile[]> {
  const [folders, loose] = runFolders(files);
  for (const folder of folders) await importRun(folder);
  const others: PickedFile[] = [];
  for (const file of loose) {
    const isRun = /\.zip$/i.test(file.path) && (await importRun({ kind: "picked", name: file.path, files: [file] }));
    if (!isRun) others.push(file);
  }
  return others;
}

function onlyOne(found: readonly FolderRef[], kind: string): FolderRef | undefined {
  const [only, second] = found;
  if (second === undefined) return only;
  const names = found.map((one) => (one.kind === "picked" ? one.name : "")).join(", ");
  throw badInput(`Several ${kind}s were dropped (${names}). Open one at a time`);
}
