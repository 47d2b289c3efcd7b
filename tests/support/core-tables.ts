/** The tables of the core as names, for builds without one plug-in. Building them fails where a row names what is gone. */

import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { MASK_POLICIES } from "../../src/engine/config/groups/mask.ts";
import { weightKey } from "../../src/engine/config/groups/reward-weights.ts";
import { MODES } from "../../src/engine/config/modes.ts";
import { defaultConfig, requireConfig } from "../../src/engine/config/parse.ts";
import { PRESETS, presetConfig, REWARD_PRESETS } from "../../src/engine/config/presets.ts";
import { SETTINGS } from "../../src/engine/config/table.ts";
import { READERS } from "../../src/engine/data/readers/all.ts";
import { RUN_EXPORTS } from "../../src/engine/export/export-names.ts";
import { EXPORT_FORMATS } from "../../src/engine/export/formats.ts";
import { PROJECTORS } from "../../src/engine/model/families/registry.ts";
import { maskPolicyOf } from "../../src/engine/policy/mask/mask-policies.ts";
import { TERMS } from "../../src/engine/rewards/terms/registry.ts";
import { LOOPS } from "../../src/engine/rl/loops/abouts.ts";
import { LOOP_CODE } from "../../src/engine/rl/loops/registry.ts";
import { describeMetric, METRICS } from "../../src/engine/runs/metrics/metric-table.ts";
import { vocabularyFile } from "../../src/engine/text/tokenizer.ts";
import { PLUGIN_CODECS } from "../../src/plugins/codecs.ts";
import { PLUGIN_FOLDERS } from "../../src/plugins/folders.ts";
import { PLUGIN_MODES } from "../../src/plugins/modes.ts";
import { PLUGIN_READERS } from "../../src/plugins/readers.ts";
import { PLUGIN_RECORDS } from "../../src/plugins/records.ts";
import { PLUGIN_SETTING_NAMES } from "../../src/plugins/setting-names.ts";
import { PLUGIN_TOKENIZERS } from "../../src/plugins/tokenizers.ts";

const missing = (what: string): never => {
  throw new Error(`${what} is missing`);
};

/**
 * Every row as "table: name".
 * @throws Error where a row has no code, a preset or a weight names no setting, or a name is there twice
 */
export function coreTables(): readonly string[] {
  const config = defaultConfig();
  for (const { name, values } of [...PRESETS, ...REWARD_PRESETS]) requireConfig({ ...values }, config, name);
  for (const { name } of PRESETS) requireConfig({ ...presetConfig(name) }, config, name);
  for (const { value } of MASK_POLICIES) maskPolicyOf({ ...config, maskPolicy: value });
  for (const { id } of LOOPS) {
    LOOP_CODE[id] ?? missing(`the code of loop ${id}`);
    describeMetric(`loop${id}/reward`) ?? missing(`the metric of loop ${id}'s reward`);
    for (const term of TERMS) SETTINGS[weightKey(id, term)] ?? missing(`the weight of ${term} in loop ${id}`);
  }
  for (const { name } of MODES) PLUGIN_MODES[name] ?? missing(`the code of mode ${name}`);
  for (const name of Object.keys(RUN_EXPORTS)) if (!(name in EXPORT_FORMATS)) missing(`the code of export ${name}`);
  const tables: Readonly<Record<string, readonly (string | number)[]>> = {
    setting: Object.keys(SETTINGS),
    metric: METRICS.map(({ name }) => name),
    preset: PRESETS.map(({ name }) => name),
    loop: LOOPS.map(({ id }) => id),
    term: TERMS,
    maskPolicy: MASK_POLICIES.map(({ value }) => value),
    mode: MODES.map(({ name }) => name),
    export: Object.keys(RUN_EXPORTS),
    reader: READERS.map(({ label }) => label),
    samples: PLUGIN_READERS.flatMap(({ samples, frames, mount }) => [
      ...samples.map(({ label }) => label),
      ...(frames === undefined ? [] : ["frames"]),
      ...(mount === undefined ? [] : ["archives"]),
    ]),
    records: PLUGIN_RECORDS.map(({ name }) => name),
    codec: PLUGIN_CODECS.map(({ name }) => name),
    vocabulary: [vocabularyFile(memoryFolder({})), ...PLUGIN_TOKENIZERS.map(({ file }) => file)],
    settingNames: PLUGIN_SETTING_NAMES.flatMap(({ former }) => former),
    projector: PROJECTORS,
    folders: PLUGIN_FOLDERS.map(() => "remote"),
  };
  return Object.entries(tables).flatMap(([table, names]) => {
    if (new Set(names).size !== names.length) throw new Error(`a ${table} is there twice: ${names.join(", ")}`);
    return names.map((name) => `${table}: ${name}`);
  });
}
