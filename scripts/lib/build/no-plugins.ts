/** A Vite plug-in for builds of the core alone: the lists of src/plugins are empty. */

/** The lists, without plug-ins. */
export const EMPTY_LISTS: Readonly<Record<string, string>> = {
  "list.ts": "export const PLUGINS = [];",
  "family-configs.ts": "export const PLUGIN_FAMILY_READERS = [];",
  "families.ts": "export const PLUGIN_FAMILIES = {};",
  "folders.ts": "export const PLUGIN_FOLDERS = [];",
  "modes.ts": "export const PLUGIN_MODES = {};",
  "mask-policies.ts": "export const PLUGIN_MASK_POLICIES = {};",
  "terms.ts": "export const PLUGIN_TERMS = [];",
  "loops.ts": "export const PLUGIN_LOOPS = {};",
  "records.ts": "export const PLUGIN_RECORDS = [];",
  "readers.ts": "export const PLUGIN_READERS = [];",
  "exports.ts": "export const PLUGIN_EXPORTS = {};",
  "data-calls.ts": "export const DATA_CALLS = [];",
  "reward-calls.ts": "export const REWARD_CALLS = [];",
  "trainer-calls.ts": "export const TRAINER_CALLS = [];",
  "panels.ts": "export const PANELS = [];",
};

export const NO_PLUGINS = {
  name: "no-plugins",
  enforce: "pre",
  load(id: string): string | null {
    const list = /\/src\/plugins\/([\w-]+\.ts)$/.exec(id.replaceAll("\\", "/"))?.[1];
    return list === undefined ? null : (EMPTY_LISTS[list] ?? null);
  },
} as const;
