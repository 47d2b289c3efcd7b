/**
 * Files of settings: JSON, a run's `run.json`, or YAML as trainers take it, one `name: value` a line. Nested YAML is refused: no
 * setting has parts.
 */
import { isRecord } from "../bytes/json.ts";
import { LabError } from "../errors.ts";

/**
 * The names and values of a file, none of them checked.
 * @param name of the file, for messages
 * @throws LabError("bad-input") naming the file, and the line where there is one
 */
export function readSettingsFile(text: string, name: string): Readonly<Record<string, unknown>> {
  const value = /^\uFEFF?\s*[[{"]/.test(text) || /\.json$/i.test(name) ? readJson(text, name) : readYaml(text, name);
  // A run.json carries its settings under "config".
  return isRecord(value.config) ? value.config : value;
}

function readJson(text: string, name: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new LabError("bad-input", `${name} is not JSON; the settings are kept`, { subject: name, cause });
  }
  if (isRecord(value)) return value;
  throw new LabError("bad-input", `${name} holds no object of settings; the settings are kept`, { subject: name });
}

function readYaml(text: string, name: string): Readonly<Record<string, unknown>> {
  const bad = (line: number, why: string): LabError =>
    new LabError("bad-input", `${name} line ${line} ${why}; the settings are kept`, { subject: name });
  const values = new Map<string, unknown>();
  /** The name whose list the lines with dashes belong to. */
  let list: { readonly key: string; readonly items: unknown[] } | undefined;
  for (const [at, full] of text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .entries()) {
    const line = withoutComment(full);
    if (line === "" || line === "---" || line === "...") continue;
    const scalar = (written: string): unknown => {
      const value = readScalar(written);
      if (value === undefined)
        throw bad(at + 1, "holds a value that is neither number, word, quoted text nor plain list");
      return value;
    };
    const item = /^\s*-\s+(.*)$/.exec(line);
    if (item !== null && list !== undefined) {
      list.items.push(scalar(item[1] as string));
      values.set(list.key, list.items);
      continue;
    }
    const pair = /^([A-Za-z_][\w.-]*):(?:\s+(.*))?$/.exec(line);
    if (pair === null) throw bad(at + 1, "is not of the form name: value");
    const [, key, written] = pair as unknown as [string, string, string | undefined];
    list = written === undefined ? { key, items: [] } : undefined;
    values.set(key, written === undefined ? null : scalar(written));
  }
  if (values.size === 0) throw new LabError("bad-input", `${name} holds no settings`, { subject: name });
  return Object.fromEntries(values);
}

/** The line up to a "#" that is not part of a quoted text, without blanks at its end. */
function withoutComment(line: string): string {
  const kept = /^(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|(?!\s#|^#).)*/.exec(line)?.[0] ?? "";
  return kept.trimEnd();
}

/** A word, number, quoted text or list of them in one line; undefined for anything else. */
function readScalar(written: string): unknown {
  if (written.startsWith('"')) return parsedText(written);
  if (written.startsWith("'"))
    return /^'(?:''|[^'])*'$/.test(written) ? written.slice(1, -1).replaceAll("''", "'") : undefined;
  if (written.startsWith("[")) {
    const inner = /^\[([^[\]{}]*)\]$/.exec(written)?.[1]?.trim();
    if (inner === undefined) return undefined;
    const items = inner === "" ? [] : inner.split(",").map((item) => readScalar(item.trim()));
    return items.includes(undefined) ? undefined : items;
  }
  if (/^[{|>&*!%@`]/.test(written) || /:\s/.test(written) || written === "") return undefined;
  if (/^(?:null|Null|NULL|~)$/.test(written)) return null;
  if (/^(?:true|false)$/i.test(written)) return written.toLowerCase() === "true";
  return /^[-+.\d]/.test(written) && Number.isFinite(Number(written)) ? Number(written) : written;
}

function parsedText(written: string): string | undefined {
  try {
    const value: unknown = JSON.parse(written);
    return typeof value === "string" ? value : undefined;
  } catch {
    // Not a whole quoted text; the caller says so with file and line.
    return undefined;
  }
}
