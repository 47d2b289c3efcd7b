/** Names that settings have in other programs and had in earlier versions: in links, files and on command lines. */
import type { LabConfig, SettingKey } from "../engine/config/table.ts";
import { trlNames } from "./trl/names.ts";

interface SettingNames {
  /** Names of earlier versions, which a mistyped name may mean. */
  readonly former: readonly string[];
  /** Whether a name is one of these. */
  has(name: string): boolean;
  /** The setting for a name; undefined if there is none. */
  settingOf(name: string): SettingKey | undefined;
  /** Why a name has no effect ("" without a reason); undefined for all other names. */
  withoutEffect(name: string): string | undefined;
  /** The names in the order of their dependencies. */
  inReadingOrder(names: readonly string[]): readonly string[];
  /**
   * Converts a value.
   * @param record all given values
   * @param known settings so far: the base, settings under the lab's names, and names read earlier
   * @returns values of settings, not validated yet, or a sentence about why there are none
   */
  read(
    name: string,
    raw: unknown,
    record: Readonly<Record<string, unknown>>,
    known: LabConfig,
  ): { readonly values: Partial<Record<SettingKey, unknown>> } | { readonly problem: string };
}

export const PLUGIN_SETTING_NAMES: readonly SettingNames[] = [trlNames];
