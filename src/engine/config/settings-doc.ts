/** docs/settings.md, made from the table. */
import { SETTING_KEYS } from "./parse.ts";
import { PRESETS } from "./presets.ts";
import { SETTING_GROUPS, type Setting, type SettingGroup } from "./setting.ts";
import { SETTINGS } from "./table.ts";

/** The page as Markdown. */
export function settingsPage(): string {
  const groups = Object.keys(SETTING_GROUPS) as SettingGroup[];
  const tables = groups.map((group) => {
    const rows = SETTING_KEYS.filter((key) => SETTINGS[key].group === group).map((key) => row(key, SETTINGS[key]));
    return `## ${SETTING_GROUPS[group]}\n\n| setting | default | allowed | what it does | TRL or PEFT name |\n| --- | --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  });
  const presets = PRESETS.map(({ name, title, summary, values }) => {
    const changes = Object.entries(values).map(([key, value]) => `\`${key}=${value}\``);
    return `| \`${name}\` | ${title} | ${summary} | ${changes.join(" ")} |`;
  });
  return `# Settings

Made from \`src/engine/config/table.ts\`; a test compares the two. The form of the Setup screen, the page's address
(\`#screen=setup&steps=50\`), configuration files and the tools' \`--config\` all use these names.

${tables.join("\n")}
## Presets

| preset | title | what for | differs from the defaults in |
| --- | --- | --- | --- |
${presets.join("\n")}
`;
}

function row(key: string, setting: Setting): string {
  const cells = [
    `\`${key}\``,
    setting.default === "" ? "empty" : `\`${setting.default}\``,
    allowed(setting),
    setting.help,
    setting.trl === undefined ? "" : `\`${setting.trl}\``,
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

function allowed(setting: Setting): string {
  if (setting.kind === "choice") return setting.choices.map((option) => `\`${option.value}\``).join(", ");
  if (setting.kind === "flag") return "`true`, `false`";
  if (setting.kind === "text") return `text, at most ${setting.maxLength} characters`;
  return `${setting.min} to ${setting.max}${setting.unit === undefined ? "" : ` ${setting.unit}`}`;
}
