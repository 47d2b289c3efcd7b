/** Copies a stored run up to one of its checkpoints, as a separate run; fork-calls.ts continues the copy. */
import { changedSettings, configDifference, isTextSetting, requireConfig } from "../../engine/config/parse.ts";
import { type LabConfig, SETTINGS, type SettingKey } from "../../engine/config/table.ts";
import { LabError } from "../../engine/errors.ts";
import { checkFiles } from "../../engine/runs/checkpoint/checkpoint.ts";
import { inCopyOrder } from "../../engine/runs/checkpoint/checkpoint-folder.ts";
import {
  type EvalReport,
  REWARD_METRICS,
  readEvaluations,
  writeEvaluations,
} from "../../engine/runs/evaluations/evaluations.ts";
import { LAB, type RunManifest, VERSION } from "../../engine/runs/manifest.ts";
import { writeNotes } from "../../engine/runs/notes.ts";
import { createRun, openRun, type RunFolder } from "../../engine/runs/run-folder.ts";
import { ownSettings, settingsOf } from "../../engine/runs/run-parts.ts";
import { stepFromName, stepName } from "../../engine/runs/step-name.ts";
import type { RunStore } from "../../engine/storage/store.ts";

export interface Fork {
  /** Step of the checkpoint that the copy continues from. */
  readonly step: number;
  readonly id: string;
  readonly title: string;
  /** ISO time. */
  readonly created: string;
  /** Settings that change from the next step on. */
  readonly changes: Partial<LabConfig>;
}

/** Settings that determine the shapes and storage of the weights, and the rows; a copy cannot change them. */
export const FIXED: readonly SettingKey[] = [
  "mode",
  "loraR",
  "loraAlpha",
  "weightStorage",
  "towerStorage",
  "heldOutShare",
  "splitSeed",
  "selectionShare",
  "rowFilter",
  "maxRows",
];

/**
 * @param step of the checkpoint that the fork continues from
 * @throws LabError("bad-config") naming a setting that a fork cannot change, or a value that does not fit
 */
export function forkConfig(parent: LabConfig, changes: Partial<LabConfig>, step: number): LabConfig {
  const fixed = FIXED.find((key) => key in changes && parent[key] !== changes[key]);
  if (fixed !== undefined) {
    throw new LabError(
      "bad-config",
      `A fork keeps ${SETTINGS[fixed].label} of its parent; start a new run to change it`,
      {
        subject: fixed,
      },
    );
  }
  const config = requireConfig(changes, parent, "Settings of the fork");
  if (config.steps > step) return config;
  throw new LabError(
    "bad-config",
    `The checkpoint of step ${step} leaves no step of a run of ${config.steps}; choose an earlier checkpoint, or fork with more steps`,
    { subject: "steps" },
  );
}

/**
 * The parent's folder up to the checkpoint, under another id. A failed copy leaves nothing.
 * @param to store of the copy
 * @throws LabError naming a damaged checkpoint or setting; the parent stays as it is
 */
export async function forkRun(store: RunStore, parent: string, fork: Fork, to: RunStore = store): Promise<RunFolder> {
  const { step, id, title, created } = fork;
  const manifest = (await openRun(store, parent)).manifest();
  const { lengths: _lengths, judgeDropped: _spent, ...kept } = manifest;
  const config = forkConfig(ownSettings(manifest), fork.changes, step);
  await checkFiles(store, parent, step);
  const earlier = settingsOf(manifest, step);
  const changed = Object.keys(configDifference(config, earlier)) as SettingKey[];
  const change = Object.fromEntries(changed.map((key) => [key, { from: earlier[key], to: config[key] }]));
  const part = { fromStep: step, engine: LAB, version: VERSION, changed: change };
  const parts = manifest.segments?.filter(({ fromStep }) => fromStep < step);
  const own: RunManifest = {
    ...{ ...kept, id, title, created, config, state: "paused", forkedFrom: { run: parent, step } },
    ...(changed.length > 0 || parts !== undefined ? { segments: [...(parts ?? []), part] } : {}),
  };
  const run = await createRun(to, own);
  try {
    const paths = (await store.list(parent)).map(({ path }) => path);
    const copied = inCopyOrder(paths, parent).map((path) => path.slice(parent.length + 1));
    const copy = async (rest: string): Promise<void> =>
      to.write(`${id}/${rest}`, await store.read(`${parent}/${rest}`));
    for (const rest of copied) {
      // Notes belong to the parent.
      if (rest === "run.json" || rest === "notes.json" || rest.startsWith("checkpoints/")) continue;
      if (!isLaterRollout(rest, step)) await copy(rest);
    }
    await run.truncateAfter(step);
    if (scoresOtherwise(manifest.config, config)) await forgetRewards(to, id);
    const texts = changedSettings(config, earlier).map((key) => changeText(key, config));
    // Curves show notes, so they mark the change.
    if (texts.length > 0) await writeNotes(to, id, { steps: [{ step, text: `Fork: ${texts.join(", ")}` }] });
    // Written last, so that every fork that can be resumed is complete.
    for (const rest of copied) if (rest.startsWith(`checkpoints/${stepName(step)}/`)) await copy(rest);
    return run;
  } catch (thrown) {
    // The first error is reported. What is left cannot be resumed and can be deleted.
    await to.remove(id).catch(() => undefined);
    throw thrown;
  }
}

/** A setting and its value; a text, which may be code, by its name alone. */
function changeText(key: SettingKey, config: LabConfig): string {
  const { label } = SETTINGS[key];
  return isTextSetting(key) ? `${label} changed` : `${label} ${config[key]}`;
}

/** Reward settings that change no score: limits, prices and the control of training. */
const NO_SCORE: ReadonlySet<SettingKey> = new Set([
  "judgeParallel",
  "judgeTimeout",
  "judgeRetries",
  "judgeMaxCalls",
  "judgeMaxCost",
  "judgePromptPrice",
  "judgeReplyPrice",
  "userRewardMs",
  "userRewardMb",
  "shuffleRewards",
]);

/** Whether the fork's evaluations have different rewards from its parent's. */
function scoresOtherwise(parent: LabConfig, config: LabConfig): boolean {
  const rewards = (key: SettingKey): boolean => SETTINGS[key].group === "reward" && !NO_SCORE.has(key);
  const keys = (Object.keys(SETTINGS) as SettingKey[]).filter((key) => key === "loops" || rewards(key));
  return keys.some((key) => parent[key] !== config[key]);
}

/**
 * Removes rewards, and selections by reward, from the evaluations, because the fork's rewards cannot be compared with
 * them.
 */
async function forgetRewards(store: RunStore, id: string): Promise<void> {
  const all = await readEvaluations(store, id);
  if (all.length === 0) return;
  const none = Object.fromEntries(REWARD_METRICS.map((name) => [name, null])) as EvalReport["reward"]["scores"];
  const without = all.map(({ report, rows, ...others }) => ({
    ...others,
    report: { ...report, reward: { ...report.reward, scores: none }, selection: null },
    rows: rows.map((row) => ({ ...row, rewards: {} })),
  }));
  await writeEvaluations(store, id, without);
}

function isLaterRollout(path: string, step: number): boolean {
  const name = /^rollouts\/(.+)\.arrow$/.exec(path)?.[1];
  return name !== undefined && (stepFromName(name) ?? 0) > step;
}
