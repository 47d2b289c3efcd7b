/** Files of settings, JSON and YAML, as the page and the tools take them. */
import fc from "fast-check";
import { defaultConfig, parseConfig, requireConfig, SETTING_KEYS } from "../../../src/engine/config/parse.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { type LabConfig, SETTINGS } from "../../../src/engine/config/table.ts";
import { readSettingsFile } from "../../../src/plugins/exchange/settings-file.ts";
import { type Bytes, type Damage, share } from "../bytes.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { check, checkSentence, type Target } from "../target.ts";

/** Every setting is present, of its type and within bounds. */
export function checkConfig(config: LabConfig): void {
  check(Object.keys(config).length === SETTING_KEYS.length, `${Object.keys(config).length} settings`);
  for (const key of SETTING_KEYS) {
    const [setting, value]: [Setting, unknown] = [SETTINGS[key], config[key]];
    const within = (least: number, most: number): boolean =>
      typeof value === "number" && Number.isFinite(value) && value >= least && value <= most;
    const holds = {
      int: (own: Setting) => Number.isInteger(value) && "min" in own && within(own.min, own.max),
      float: (own: Setting) => "min" in own && within(own.min, own.max),
      choice: (own: Setting) => "choices" in own && own.choices.some((choice) => choice.value === value),
      flag: () => typeof value === "boolean",
      text: (own: Setting) => typeof value === "string" && "maxLength" in own && value.length <= own.maxLength,
    };
    check(holds[setting.kind](setting), `${key} is ${JSON.stringify(value)?.slice(0, 60)}`);
  }
}

const YAML = `# made by hand
max_steps: 12
learning_rate: 1.0e-6   # a comment
beta: 0.04
loss_type: "dapo"
lora_r: 8
scale_rewards: 'group'
epsilon_high: null
`;

const odd = fc.constantFrom(
  ...["null", "~", "''", '""', "1e999", "-1", "0x10", "[", "[1,", "{a: 1}", "&a", "*a", "!!x 1", "| ", "- - 1"],
  ...[
    `"${'\\"'.repeat(40_000)}`,
    `'${"''".repeat(40_000)}`,
    `[${"1,".repeat(50_000)}]`,
    "\u001b[31m",
    "a".repeat(9000),
  ],
  ...["\t1", "# nothing", "1 # x", `"${"#".repeat(9000)}`, "\u202e1", "__proto__", "{{{{", `${"[".repeat(9000)}`],
);
const line = fc.tuple(share, odd, fc.constantFrom("value", "name", "both", "indented")).map(
  ([at, text, part]): Damage => ({
    what: `line at ${at}: ${part} ${text.slice(0, 30)}`,
    apply: (bytes: Bytes) => {
      const lines = new TextDecoder().decode(bytes).split("\n");
      const index = Math.floor(at * (lines.length - 1));
      const [name = "", value = ""] = (lines[index] as string).split(/:(.*)/s);
      const forms = {
        value: `${name}: ${text}`,
        name: `${text}: ${value}`,
        both: text,
        indented: `  ${name}: ${text}`,
      };
      lines[index] = forms[part as keyof typeof forms];
      return new TextEncoder().encode(lines.join("\n"));
    },
  }),
);

const encode = (text: string): Bytes => new TextEncoder().encode(text);
const trl = { max_steps: 10, learning_rate: 1e-6, beta: 0, num_generations: 8, epsilon: 0.2, top_k: null };

export const settings: Target = {
  ...casesOf(
    {
      own: { "settings.json": encode(JSON.stringify(defaultConfig())) },
      run: {
        "run.json": encode(JSON.stringify({ format: "sa2va-lab-run/1", config: { ...defaultConfig(), steps: 9 } })),
      },
      trl: { "trl.json": encode(JSON.stringify(trl)) },
      yaml: { "trl_grpo.yaml": encode(YAML) },
    },
    (path) => (path.endsWith(".yaml") ? line : jsonDamage()),
  ),
  async read(files) {
    const [name, bytes] = Object.entries(files)[0] ?? ["settings.yaml", new Uint8Array()];
    const values = readSettingsFile(new TextDecoder().decode(bytes), name);
    const { config, problems, translated } = parseConfig(values);
    checkConfig(config);
    for (const problem of problems) checkSentence(problem);
    if (translated !== null) checkSentence(translated);
    checkConfig(requireConfig(values, undefined, name, checkSentence));
  },
};
