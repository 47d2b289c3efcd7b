/** The lists of src/plugins without all plug-ins or without one, and Vite plug-ins that build with them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../ensure.mjs";

/** The lists, without plug-ins. */
export const EMPTY_LISTS: Readonly<Record<string, string>> = {
  "list.ts": "export const PLUGINS = [];",
  "family-configs.ts": "export const PLUGIN_FAMILY_READERS = [];",
  "families.ts": "export const PLUGIN_FAMILIES = {};",
  "codecs.ts": "export const PLUGIN_CODECS = [];",
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
  "tokenizers.ts": "export const PLUGIN_TOKENIZERS = [];",
  "setting-names.ts": "export const PLUGIN_SETTING_NAMES = [];",
  "trainer-calls.ts": "export const TRAINER_CALLS = [];",
  "panels.ts": "export const PANELS = [];",
};

const FOLDER = join(root, "src", "plugins");

/** Names of the folders of all plug-ins. */
export function pluginNames(): readonly string[] {
  return readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The text of a list without the lines of a plug-in: its imports, and the entries that name what they import. */
export function withoutPlugin(list: string, plugin: string): string {
  const imports = new RegExp(`^import (?:type )?\\{([^}]*)\\} from "\\./${plugin}/[^"]+";\\n`, "gm");
  const names = [...list.matchAll(imports)].flatMap(([, inside]) =>
    (inside as string).split(",").map(
      (part) =>
        part
          .trim()
          .split(/\s+as\s+/)
          .at(-1) as string,
    ),
  );
  const entry = `(?:\\.\\.\\.)?(?:(?:"[^"]+"|\\w+): )?(?:${names.join("|")})\\b(?!\\()`;
  const entries = new RegExp(`^ +${entry},\\n|(?<=[[{] ?|, )${entry}(?:, )?`, "gm");
  const panels = new RegExp(
    `^  \\{(?: plugin: "${plugin}",.*\\},|\\n    plugin: "${plugin}",\\n(?: {4}.*\\n)*  \\},)\\n`,
    "gm",
  );
  const rest = list.replace(imports, "").replace(panels, "");
  return names.filter((name) => name !== "").length === 0 ? rest : rest.replace(entries, "");
}

/** Every list that names one of these plug-ins, without them. */
export function listsWithout(plugins: readonly string[]): Readonly<Record<string, string>> {
  const texts = Object.keys(EMPTY_LISTS).map((list) => [list, readFileSync(join(FOLDER, list), "utf8")] as const);
  return Object.fromEntries(
    texts.flatMap(([list, text]) => {
      const rest = plugins.reduce(withoutPlugin, text);
      return rest === text ? [] : [[list, rest] as const];
    }),
  );
}

/** Tests and tools that a plug-in's README names as its own: files, and folders. */
export function ownTests(plugin: string): readonly string[] {
  const lines = readFileSync(join(FOLDER, plugin, "README.md"), "utf8").split("\n");
  const named = lines.filter((line) => /^- (?:Tests|Tools): /.test(line)).join(" ");
  return [...named.matchAll(/`([^`]+)`/g)].flatMap(([, path]) => {
    const [before, choices, after] = /^(.*)\{(.*)\}(.*)$/.exec(path as string)?.slice(1) ?? [path as string];
    return choices === undefined ? [before as string] : choices.split(",").map((part) => `${before}${part}${after}`);
  });
}

/** Whether a test file is one of a plug-in's own. @param patterns of `ownTests` */
export function isOwnTest(path: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => path === pattern || path.startsWith(`${pattern}/`));
}

/** A Vite plug-in that reads these texts in place of the lists of their names. */
export function withLists(lists: Readonly<Record<string, string>>) {
  return {
    name: "plugin-lists",
    enforce: "pre",
    load(id: string): string | null {
      const list = /\/src\/plugins\/([\w-]+\.ts)$/.exec(id.replaceAll("\\", "/"))?.[1];
      return list === undefined ? null : (lists[list] ?? null);
    },
  } as const;
}

/** A Vite plug-in for builds of the core alone. */
export const NO_PLUGINS = withLists(EMPTY_LISTS);
