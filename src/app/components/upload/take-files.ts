import { LabError } from "../../../engine/errors.ts";
import type { PickedFile } from "../../../protocol/common.ts";
import { openAdapter, openCaptioner } from "../../clients/adapters.ts";
import { importRun } from "../../clients/follow-run.ts";
import { openData, openModel } from "../../clients/loading.ts";
import { navigate } from "../../stores/route.ts";
import { isActive, runStore } from "../../stores/run.ts";
import { draftSweep } from "../../stores/sweep.ts";
import { adapterOf, classifyPicked } from "./classify.ts";

/**
 * Opens files as run, data, checkpoint, adapter or, a lone YAML file, as sweep; `expected` is the kind that the clicked button names.
 * @throws LabError("bad-input") when the files hold nothing of it
 */
export async function takeFiles(
  files: readonly PickedFile[],
  expected: "model" | "adapter" | "captioner" | "any",
): Promise<void> {
  if (files.length === 0) throw new LabError("bad-input", "Nothing was opened: the folder holds no files");
  const [only] = files;
  if (expected === "any" && files.length === 1 && only !== undefined && /\.ya?ml$/i.test(only.path)) {
    draftSweep(only.path, await only.file.text());
    return navigate({ screen: "runs" });
  }
  if (expected === "any" && files.some(({ path }) => /(^|\/)run\.json$|\.zip$/i.test(path))) {
    if (await importRun({ kind: "picked", name: files[0]?.path ?? "", files })) return;
  }
  const adapter = adapterOf(files);
  if ((expected === "adapter" || expected === "captioner") && adapter === null) {
    throw new LabError(
      "bad-input",
      "These files are not an adapter: adapter_config.json is missing. Nothing was changed",
    );
  }
  if (adapter !== null && expected === "captioner") return openCaptioner(adapter);
  if (adapter !== null && expected !== "model") return openAdapter(adapter);
  const { models, shards } = classifyPicked(files);
  const [model, second] = models;
  if (second !== undefined) {
    const names = models.map((folder) => (folder.kind === "picked" ? folder.name : "")).join(", ");
    throw new LabError("bad-input", `Several checkpoint folders were dropped (${names}). Open one at a time`);
  }
  if (expected === "model" && model === undefined) {
    throw new LabError(
      "bad-input",
      "These files are not a checkpoint folder: config.json is missing. The open model is kept",
    );
  }
  const work: Promise<void>[] = [];
  if (model !== undefined) work.push(openModel(model));
  if (expected === "any" && shards.length > 0) {
    // Refused files change neither the rows nor the screen.
    const idle = !isActive(runStore.getState().state);
    work.push(openData(shards, null, () => idle && navigate({ screen: "data", row: null })));
  }
  await Promise.all(work);
}
