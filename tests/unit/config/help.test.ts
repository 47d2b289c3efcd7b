/** What `--help` prints: the comment at the beginning of a tool, which names every option that the tool takes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CHECKPOINT_OPTIONS } from "../../../scripts/lib/checkpoint-source.ts";
import { root } from "../../../scripts/lib/ensure.mjs";
import { FOLLOW_OPTIONS } from "../../../scripts/lib/follow-options.ts";
import { CONSENT_OPTIONS } from "../../../scripts/lib/node/node-consent.ts";
import { JUDGE_OPTIONS } from "../../../scripts/lib/node/node-judge.ts";
import { SETTINGS_OPTIONS } from "../../../scripts/lib/settings-flags.ts";

const SHARED: Readonly<Record<string, object>> = {
  CHECKPOINT_OPTIONS,
  FOLLOW_OPTIONS,
  JUDGE_OPTIONS,
  SETTINGS_OPTIONS,
};
const FOLDER = join(root, "scripts");

test.each(readdirSync(FOLDER).filter((name) => name.endsWith(".ts")))("%s names its options", (name) => {
  const source = readFileSync(join(FOLDER, name), "utf8");
  const help = /^\/\*\*.*?\*\//s.exec(source)?.[0] ?? "";
  const own = [...source.matchAll(/"?\b([a-z][a-z-]*)"?: \{ takes: /g)].map(([, option]) => option as string);
  const spread = [...source.matchAll(/\.\.\.([A-Z]+_OPTIONS)\b/g)].flatMap(([, table]) => {
    expect(SHARED).toHaveProperty(table as string);
    return Object.keys(SHARED[table as string] as object);
  });
  // A refusal of settings names these where they are needed.
  const named = [...own, ...spread].filter((option) => !(option in CONSENT_OPTIONS));
  expect(named.filter((option) => !new RegExp(`--${option}(?![\\w-])`).test(help))).toEqual([]);
});
