/** Starting and resuming runs. */
import type { LabConfig } from "../../../engine/config/table.ts";
import { badInput, LabError, quote } from "../../../engine/errors.ts";
import { needsDifficulty } from "../../../engine/runs/difficulty.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { rowList } from "../../../engine/runs/run-rows.ts";
import type { Started } from "../../../protocol/trainer.ts";
import { outdateRun } from "../../stores/reads.ts";
import { beginRun, isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { about, lab } from "../lab.ts";
import { requireAgreed } from "./agreed.ts";
import { startBlocker } from "./blockers.ts";

export type StoredRun = Pick<RunManifest, "id" | "title" | "config">;

/** Rows of the open data set in the form the trainer draws from. @param config settings of the run */
export function selection({ rowFilter }: Pick<LabConfig, "rowFilter">) {
  const { dataInfo, rows } = useSession.getState();
  return rowList(dataInfo?.name ?? "", rows, rowFilter !== "");
}

/** The same for a new run, with the measured difficulty where its order depends on it. */
export async function newRows(config: LabConfig) {
  return { ...selection(config), difficulty: needsDifficulty(config) ? await lab().data.difficulty() : [] };
}

/** Asks for missing consent to the settings of a stored run. @throws LabError("cancelled") */
export function agreeToRun({ title, config }: StoredRun): Promise<void> {
  return requireAgreed(config, `Run ${quote(title)}`, lab().reward.allow);
}

/** The current settings, after the user agreed to their judge and custom reward. @throws LabError("cancelled") */
export async function agreedSettings(): Promise<LabConfig> {
  const { config } = useSession.getState();
  await requireAgreed(config, "The settings of this page", lab().reward.allow);
  return config;
}

/** Starts a new run with the current settings. @throws LabError when it cannot */
export async function startRun(): Promise<void> {
  const blocker = startBlocker();
  if (blocker !== null) throw new LabError("bad-config", blocker);
  const title = runTitle(crypto.getRandomValues(new Uint32Array(1))[0] ?? 0);
  await begin(async () => newRun(await agreedSettings(), title));
}

async function newRun(config: LabConfig, title: string): Promise<Started> {
  return lab().trainer.startRun(config, await newRows(config), title, new Date().toISOString());
}

/**
 * Continues a stored run from its newest checkpoint, with the rows that are open.
 * @param steps its new length; unchanged by default
 * @param from step of an earlier checkpoint; the steps after it are dropped
 * @throws LabError when it cannot
 */
export async function resumeRun(run: StoredRun, steps?: number, from?: number): Promise<void> {
  await begin(async () => {
    await agreeToRun(run);
    return lab().trainer.resumeRun(run.id, selection(run.config), steps, from);
  }, run.id);
}

/**
 * Marks the page as busy as soon as a run is requested, before consent; if no run starts, the earlier state returns.
 * @param id of a stored run that continues; none for a new one
 */
export async function begin(ask: () => Promise<Started>, id?: string): Promise<void> {
  const before = useRun.getState();
  if (isActive(before.state)) throw badInput("A run is in progress. Stop it first");
  // What another run reports before its manifest arrives does not belong to the run before.
  useRun.setState({ ...(id !== before.runId && useRun.getInitialState()), state: "starting", continues: id ?? null });
  try {
    const { manifest, resumedAt, heldOutRows } = await about("run", ask);
    beginRun(manifest, resumedAt, heldOutRows);
    // A resumed run drops the steps after its checkpoint.
    outdateRun(manifest.id);
    // The interrupted run continues, so it is no longer offered.
    useSession.setState(({ interrupted }) => (interrupted?.manifest.id === manifest.id ? { interrupted: null } : {}));
  } catch (thrown) {
    // A worker that crashed meanwhile has set the state already.
    if (useRun.getState().state === "starting") useRun.setState(before);
    throw thrown;
  }
}

const MANNERS =
  "brave calm clear eager fair gentle keen kind lucid mild noble quick quiet steady sunny swift tidy warm wise witty".split(
    " ",
  );
const ANIMALS =
  "badger beaver crane dove falcon finch fox hare heron ibex lark lynx marten newt otter owl raven robin seal wren".split(
    " ",
  );

/** A memorable name, such as "brave otter"; 400 different names. @param number any whole number from 0 */
export function runTitle(number: number): string {
  const manner = MANNERS[number % MANNERS.length];
  const animal = ANIMALS[Math.floor(number / MANNERS.length) % ANIMALS.length];
  return `${manner} ${animal}`;
}
