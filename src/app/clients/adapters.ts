/** Opening and closing the adapter that runs and try-outs start from. */
import { LabError } from "../../engine/errors.ts";
import type { FolderRef } from "../../protocol/common.ts";
import { isActive, runStore } from "../stores/run.ts";
import { changeConfig } from "../stores/session.ts";
import { tryStore } from "../stores/try-out.ts";
import { lab } from "./lab.ts";
import { refreshPlan } from "./loading.ts";

/** Reads an adapter folder; rank and alpha of the settings follow it, or a run could not start from it. */
export async function openAdapter(folder: FolderRef): Promise<void> {
  if (isActive(runStore.getState().state)) {
    throw new LabError("bad-input", "A run is in progress. Stop it before you open an adapter; nothing was changed");
  }
  const adapter = await lab().trainer.openAdapter(folder);
  tryStore.setState({ adapter });
  if (adapter !== null) changeConfig({ loraRank: adapter.rank, loraAlpha: adapter.rank * adapter.scale });
  await refreshPlan();
}

export async function closeAdapter(): Promise<void> {
  await lab().trainer.openAdapter(null);
  tryStore.setState({ adapter: null });
  await refreshPlan();
}
