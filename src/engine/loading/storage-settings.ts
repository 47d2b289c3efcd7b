/** Storage of the weights according to the settings. */
import type { LabConfig } from "../config/table.ts";
import { badInput } from "../errors.ts";
import type { WeightStorage } from "../gpu/packed/storage.ts";
import type { StorageChoice } from "../model/weights/storage-choice.ts";

/** Storage of the frozen matrices according to the settings. */
export function storageChoice(config: Pick<LabConfig, "weightStorage" | "towerStorage">): StorageChoice {
  const language = config.weightStorage as WeightStorage;
  return { language, towers: config.towerStorage === "same" ? language : (config.towerStorage as WeightStorage) };
}

/** The settings that name the storage of a loaded model, which a run records instead of those of the next load. */
export function heldStorage({ language, towers }: StorageChoice): Pick<LabConfig, "weightStorage" | "towerStorage"> {
  return { weightStorage: language, towerStorage: towers };
}

/** A choice in words, e.g. "q8, towers in f16". */
export function storageText({ language, towers }: StorageChoice): string {
  return language === towers ? language : `${language}, towers in ${towers}`;
}

export function sameStorage(a: StorageChoice, b: StorageChoice): boolean {
  return a.language === b.language && a.towers === b.towers;
}

/** @throws LabError("bad-input") when a run was trained with other storage of the weights */
export function checkStorage(
  title: string,
  config: Pick<LabConfig, "weightStorage" | "towerStorage">,
  held: StorageChoice,
): void {
  const trained = storageChoice(config);
  if (sameStorage(trained, held)) return;
  throw badInput(
    `Run "${title}" was trained on weights in ${storageText(trained)}, the model is loaded in ${storageText(held)}; load it again with that storage`,
    "weightStorage",
  );
}
