/** Reads files of settings: JSON, a run's `run.json`, or a trainer's YAML. */
import { Lexer, parseDocument } from "yaml";
import { isRecord, parseJson } from "../../engine/bytes/json.ts";
import { badInput, LabError, plainLine, thrownText } from "../../engine/errors.ts";

/** Maximum characters of a file; the longest settings are prompts, prepared questions and a custom reward. */
const MAX_LENGTH = 2 ** 21;
/** Maximum tokens of a YAML file; a block scalar is one token. All settings together take about 1,500. */
const MAX_TOKENS = 20_000;

/**
 * The names and values of a file, not validated.
 * @param name of the file, for messages
 * @throws LabError("bad-input") naming the file, and the line if known
 */
export function readSettingsFile(text: string, name: string): Readonly<Record<string, unknown>> {
  const value = readRecordFile(text, name);
  // A run.json has its settings under "config".
  const settings = isRecord(value.config) ? value.config : value;
  return flattened(settings);
}

/**
 * The text of a file: UTF-8, or UTF-16 if its first bytes say so, as some editors write it.
 * @param name of the file, for messages
 * @throws LabError("bad-input") when the bytes are no text
 */
export function settingsText(bytes: Uint8Array, name: string): string {
  const [first, second] = bytes;
  const wide = first === 0xff && second === 0xfe ? "utf-16le" : first === 0xfe && second === 0xff ? "utf-16be" : null;
  const text = new TextDecoder(wide ?? "utf-8").decode(bytes);
  if (text.includes("\0")) throw refused(name, "is not text in UTF-8, or in UTF-16 with a byte order mark");
  return text;
}

/** Names below a name, such as those of `lr_scheduler_kwargs`, joined to it by a point. */
function flattened(settings: Readonly<Record<string, unknown>>, above = ""): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([key, value]) => {
      const name = `${above}${key}`;
      return isRecord(value) && Object.keys(value).length > 0
        ? Object.entries(flattened(value, `${name}.`))
        : [[name, value]];
    }),
  );
}

/**
 * The object in a JSON or YAML file, of any shape.
 * @param name of the file, for messages
 * @throws LabError("bad-input") naming the file, and the line if known
 */
export function readRecordFile(text: string, name: string): Readonly<Record<string, unknown>> {
  if (text.length > MAX_LENGTH) throw refused(name, `has ${text.length} characters, too many for settings`);
  // YAML may begin like JSON.
  const json = /\.json$/i.test(name) || (!/\.ya?ml$/i.test(name) && /^\uFEFF?\s*[[{"]/.test(text));
  const value = json ? readJson(text, name) : readYaml(text, name);
  if (value === null) throw badInput(`${name} contains no settings`, name);
  if (!isRecord(value)) throw refused(name, "is not an object of settings");
  return value;
}

function readJson(text: string, name: string): unknown {
  try {
    return parseJson(text, name);
  } catch (cause) {
    throw badInput(`${thrownText(cause)}; the settings are kept`, name, cause);
  }
}

function readYaml(text: string, name: string): unknown {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    if (++tokens > MAX_TOKENS)
      throw refused(name, `has more than ${MAX_TOKENS} words and marks, too many for settings`);
  }
  // Aliases can expand without limit and no setting needs them; the default check for unique keys is quadratic.
  const options = { schema: "core", uniqueKeys: false, logLevel: "error", prettyErrors: false } as const;
  try {
    const yaml = parseDocument(text.replace(/^\uFEFF/, ""), options);
    const [error] = yaml.errors;
    if (error !== undefined) {
      const line = text.slice(0, error.pos[0]).split("\n").length;
      throw refused(name, `cannot be parsed as YAML at line ${line} (${plainLine(error.message)})`);
    }
    return yaml.toJS({ maxAliasCount: 0 });
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    // Thrown for aliases, and for nesting deeper than the parser's stack.
    throw refused(name, `cannot be parsed as YAML (${thrownText(thrown)})`, thrown);
  }
}

function refused(name: string, why: string, cause?: unknown): LabError {
  return badInput(`${name} ${why}; the settings are kept`, name, cause);
}
