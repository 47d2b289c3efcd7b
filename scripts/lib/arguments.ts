/** Command lines of the tools: `--name value…`, `--flag`; a mistake ends the tool with code 2 and one sentence. */

import { LabError } from "../../src/engine/errors.ts";
import { guardTerminal } from "./terminal.ts";

export interface OptionSpec {
  /** values: how many the option takes; "many" collects until the next option. */
  readonly takes: 0 | 1 | "many";
}

export type Parsed = ReadonlyMap<string, readonly string[]>;

/** @throws LabError("bad-input") for an unknown option, a missing value or a stray word */
export function parseArguments(words: readonly string[], specs: Readonly<Record<string, OptionSpec>>): Parsed {
  const found = new Map<string, string[]>();
  for (let at = 0; at < words.length; ) {
    const word = words[at++] as string;
    const inline = /^--([^=]+)=(.*)$/s.exec(word);
    const name = inline?.[1] ?? /^--(.+)$/.exec(word)?.[1];
    const spec = name === undefined ? undefined : specs[name];
    if (name === undefined || spec === undefined) {
      const known = Object.keys(specs)
        .map((key) => `--${key}`)
        .join(", ");
      throw new LabError("bad-input", `Unknown argument "${word}"; known are ${known}`, { subject: word });
    }
    const values = found.get(name) ?? [];
    if (inline?.[2] !== undefined) values.push(inline[2]);
    else if (spec.takes !== 0) {
      const before = values.length;
      while (
        at < words.length &&
        !(words[at] as string).startsWith("--") &&
        (spec.takes === "many" || values.length === before)
      ) {
        values.push(words[at++] as string);
      }
      if (values.length === before) throw new LabError("bad-input", `--${name} needs a value`, { subject: name });
    }
    found.set(name, values);
  }
  return found;
}

export function one(parsed: Parsed, name: string): string | undefined {
  return parsed.get(name)?.at(-1);
}

/** A whole number in range, or the fallback when the option is absent. */
export function whole(parsed: Parsed, name: string, min: number, max: number, fallback: number): number {
  const text = one(parsed, name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new LabError("bad-input", `--${name} must be a whole number from ${min} to ${max}, not "${text}"`, {
      subject: name,
    });
  }
  return value;
}

/** Runs a tool: sentences on stderr, 2 for mistakes of input, 1 for everything else that failed. */
export async function runTool(tool: () => Promise<number>): Promise<void> {
  guardTerminal();
  try {
    process.exitCode = await tool();
  } catch (thrown) {
    const known = thrown instanceof LabError;
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    if (!known && thrown instanceof Error && thrown.stack !== undefined) process.stderr.write(`${thrown.stack}\n`);
    process.exitCode = known && (thrown.code === "bad-input" || thrown.code === "bad-config") ? 2 : 1;
  }
}
