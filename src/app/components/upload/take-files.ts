import { LabError } from "../../../engine/errors.ts";
import type { PickedFile } from "../../../protocol/common.ts";
import { openAdapter } from "../../clients/adapters.ts";
import { openData, openModel } from "../../clients/loading.ts";
import { navigate } from "../../stores/route.ts";
import { isActive, runStore } from "../../stores/run.ts";
import { adapterOf, classifyPicked } from "./classify.ts";

/**
 * Opens files as data, checkpoint or adapter; `expected` is the kind that the clicked button names.
 * @throws LabError("bad-input") when the files hold nothing of it
 */
export async function takeFiles(files: readonly PickedFile[], expected: "model" | "adapter" | "any"): Promise<void> {
  if (files.length === 0) throw new LabError("bad-input", "Nothing was opened: the folder holds no files");
  const adapter = adapterOf(files);
  if (expected === "adapter" && adapter === null) {
    throw new LabError(
      "bad-input",
      "These files are not an adapter: adapter_config.json is missing. Nothing was changed",
    );
  }
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
    // While a run uses the rows, opening is refused and the screen does not change.
    if (!isActive(runStore.getState().state)) navigate({ screen: "data", row: null });
    work.push(openData(shards));
  }
  await Promise.all(work);
}
