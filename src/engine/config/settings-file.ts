/** Files of settings: JSON, a run's `run.json`, or YAML as trainers take it. */
import { Lexer, parseDocument } from "yaml";
import { isRecord, parseJson } from "../bytes/json.ts";
import { LabError, plainLine, quote, thrownText } from "../errors.ts";
import { withOlderMeaning } from "./stored-settings.ts";

/** Most characters of a file; the longest settings are prompts, written questions and a custom reward. */
const MAX_LENGTH = 2 ** 21;
/** Most words, marks and line ends of a YAML file; a text in block form is one. All settings together take about 1,500. */
const MAX_TOKENS = 20_000;

/**
 * The names and values of a file, none of them checked.
 * @param name of the file, for messages
 * @throws LabError("bad-input") naming the file, and the line where there is one
 */
export function readSettingsFile(text: string, name: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_LENGTH) throw refused(name, `has ${text.length} characters, too many for settings`);
  const json = /^\uFEFF?\s*[[{"]/.test(text) || /\.json$/i.test(name);
  const value = json ? readJson(text, name) : readYaml(text, name);
  if (value === null) throw new LabError("bad-input", `${name} holds no settings`, { subject: name });
  if (!isRecord(value)) throw refused(name, "holds no object of settings");
  // A run.json carries its settings under "config".
  const settings = isRecord(value.config) ? withOlderMeaning(value.config) : value;
  const nested = Object.keys(settings).find((key) => isRecord(settings[key]));
  if (nested !== undefined) throw refused(name, `has names below ${quote(nested)}, but no setting has parts`);
  return settings;
}

function readJson(text: string, name: string): unknown {
  try {
    return parseJson(text, name);
  } catch (cause) {
    throw refused(name, "is not JSON", cause);
  }
}

function readYaml(text: string, name: string): unknown {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    if (++tokens > MAX_TOKENS)
      throw refused(name, `has more than ${MAX_TOKENS} words and marks, too many for settings`);
  }
  // Aliases repeat what they stand for, and no setting needs them; keys are compared pair by pair unless told otherwise.
  const options = { schema: "core", uniqueKeys: false, logLevel: "error", prettyErrors: false } as const;
  try {
    const yaml = parseDocument(text.replace(/^\uFEFF/, ""), options);
    const [error] = yaml.errors;
    if (error !== undefined) {
      const line = text.slice(0, error.pos[0]).split("\n").length;
      throw refused(name, `line ${line} is not YAML that can be read (${plainLine(error.message)})`);
    }
    return yaml.toJS({ maxAliasCount: 0 });
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    // Aliases, and lists within lists deeper than the parser's stack.
    throw refused(name, `is not YAML that can be read (${thrownText(thrown)})`, thrown);
  }
}

function refused(name: string, why: string, cause?: unknown): LabError {
  return new LabError("bad-input", `${name} ${why}; the settings are kept`, { subject: name, cause });
}
