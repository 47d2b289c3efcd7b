/** Generates docs/settings.md from the table. */
import { SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import { PRESETS } from "../../../src/engine/config/presets.ts";
import { SETTING_GROUPS, type Setting, type SettingGroup, trlName } from "../../../src/engine/config/setting.ts";
import { SETTINGS } from "../../../src/engine/config/table.ts";

/** The page as Markdown. */
export function settingsPage(): string {
  const groups = Object.keys(SETTING_GROUPS) as SettingGroup[];
  const tables = groups.map((group) => {
    const rows = SETTING_KEYS.filter((key) => SETTINGS[key].group === group).map((key) => row(key, SETTINGS[key]));
    return `## ${SETTING_GROUPS[group]}\n\n| setting | default | allowed | effect | TRL or PEFT name, also accepted |\n| --- | --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  });
  const presets = PRESETS.map(({ name, title, summary, values }) => {
    const changes = Object.entries(values).map(([key, value]) => `\`${key}=${value}\``);
    return `| \`${name}\` | ${title} | ${summary} | ${changes.join(" ")} |`;
  });
  return `# Settings

Generated from \`src/engine/config/table.ts\`; a test compares the two. The form of the Setup screen, the page's address
(\`#screen=setup&steps=50\`), configuration files, the tools' \`--config\` and their \`--set name=value\` all use these names. A file
is JSON, a \`run.json\`, or flat YAML such as an exported \`trl_grpo.yaml\`.

A setting has TRL's name in camelCase where both mean the same. \`steps\`, \`promptsPerStep\` and \`accumulation\` count
something else than their counterparts, and \`epsilonLow\` is one side of TRL's \`epsilon\`. Names of earlier versions
(\`groupSize\`, \`maxNewTokens\` …) are still read in links, files, \`--set\` and stored runs.

Names in the last column are also accepted; the lab's name wins if both are given, and a sentence lists the translated
names. Values are converted if TRL defines them differently:

- \`max_steps\`, \`save_steps\` and \`eval_steps\` count every pass over a batch of rollouts there, so they are divided by
  \`num_iterations\`; save, evaluation and warm-up steps between 0 and 1 are shares of the run.
- \`save_strategy\` and \`eval_strategy\` are \`steps\` or \`no\`.
- \`per_device_train_batch_size\` counts rollouts there and is divided by \`num_generations\`.
- \`epsilon\` without \`epsilon_high\` applies to both sides; \`null\` is off for \`delta\`, \`min_p\`, \`top_k\` and
  \`max_grad_norm\`; \`scale_rewards\` may be true or false.
- Values without a counterpart are refused with a sentence: \`max_steps\` of −1, \`save_total_limit\` that keeps all, schedules
  other than \`cosine\` and \`constant\`, batches that are not whole groups.

${tables.join("\n")}
## Presets

| preset | title | what for | differs from the defaults in |
| --- | --- | --- | --- |
${presets.join("\n")}
`;
}

function row(key: string, setting: Setting): string {
  const name = trlName(key, setting);
  const cells = [
    `\`${key}\``,
    setting.default === "" ? "empty" : `\`${setting.default}\``,
    allowed(setting),
    setting.help,
    name === undefined ? "" : `\`${name}\``,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function allowed(setting: Setting): string {
  if (setting.kind === "choice") return setting.choices.map((option) => `\`${option.value}\``).join(", ");
  if (setting.kind === "flag") return "`true`, `false`";
  if (setting.kind === "text") return `text, at most ${setting.maxLength} characters`;
  const range = `${setting.min} to ${setting.max}${setting.unit === undefined ? "" : ` ${setting.unit}`}`;
  return setting.healthy === undefined ? range : `${range}; published recipes: ${setting.healthy.join(" to ")}`;
}

const PYTHON_TYPES = { int: "int", float: "float", choice: "str", flag: "bool", text: "str" } as const;

/** The module of the Python package with the types of the settings that it uses. @param used names in the lab */
export function settingsModule(used: readonly string[]): string {
  const fields = SETTING_KEYS.filter((key) => used.includes(key)).map((key) => {
    const name = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return `    ${name}: ${PYTHON_TYPES[SETTINGS[key].kind]}\n`;
  });
  return `"""Types of the settings; generated from the lab's table by npm run docs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """The settings that settings.json lists as used."""

${fields.join("")}`;
}
