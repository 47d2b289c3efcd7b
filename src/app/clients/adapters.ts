/** Opens and closes the adapter that runs and try-outs start from, and the adapter that scores likelihoods. */
import { badInput } from "../../engine/errors.ts";
import type { FolderRef } from "../../protocol/common.ts";
import { isActive, useRun } from "../stores/run/run.ts";
import { changeConfig } from "../stores/session.ts";
import { useTry } from "../stores/try-out.ts";
import { about, lab } from "./lab.ts";
import { refreshPlan } from "./loading.ts";

function requireIdle(): void {
  if (!isActive(useRun.getState().state)) return;
  throw badInput("A run is in progress. Stop it before you open an adapter; nothing was changed");
}

/** Reads an adapter folder and sets rank and alpha to its values, because a run needs both to match. */
export async function openAdapter(folder: FolderRef): Promise<void> {
  requireIdle();
  const adapter = await about("adapter", () => lab().trainer.openAdapter(folder, "start"));
  useTry.setState({ adapter });
  if (adapter !== null) changeConfig({ loraR: adapter.rank, loraAlpha: adapter.rank * adapter.scale });
  await refreshPlan();
}

export async function closeAdapter(): Promise<void> {
  await lab().trainer.openAdapter(null, "start");
  useTry.setState({ adapter: null });
  await refreshPlan();
}

/** Reads the adapter of another checkpoint, which then scores likelihoods; null closes it. */
export async function openCaptioner(folder: FolderRef | null): Promise<void> {
  requireIdle();
  const captioner = await about("adapter", () => lab().trainer.openAdapter(folder, "captioner"));
  useTry.setState({ captioner });
  if (captioner !== null) changeConfig({ likelihoodJudge: "adapter" });
  await refreshPlan();
}
