/** Command lines of the tools: `--name value…`, `--flag`; a mistake ends the tool with code 2 and one sentence. */
import { closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { parseArgs } from "node:util";
import { decimal } from "../../src/engine/bytes/text.ts";
import { nearWords } from "../../src/engine/config/parse.ts";
import { badInput, LabError, thrownText } from "../../src/engine/errors.ts";
import { fileFault } from "./node/file-fault.ts";
import { guardTerminal } from "./terminal.ts";

export interface OptionSpec {
  /** How many values the option takes; "many" collects until the next option. */
  readonly takes: 0 | 1 | "many";
}

export type Parsed = ReadonlyMap<string, readonly string[]>;

/** Name under which arguments without an option are collected; absent for tools that take none. */
export const WORDS = "";

/** @throws LabError("bad-input") for an unknown option, a missing value or a stray word */
export function parseArguments(args: readonly string[], specs: Readonly<Record<string, OptionSpec>>): Parsed {
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { takes }]) => [name, { type: takes === 0 ? "boolean" : "string" } as const]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const found = new Map<string, string[]>();
  const add = (name: string, ...values: string[]): void =>
    void found.set(name, [...(found.get(name) ?? []), ...values]);
  let many = WORDS;
  for (const token of tokens) {
    const word = args[token.index] as string;
    if (token.kind === "positional" && specs[many] !== undefined) {
      add(many, token.value);
      continue;
    }
    const spec =
      token.kind === "option" && token.rawName.startsWith("--") && Object.hasOwn(specs, token.name)
        ? specs[token.name]
        : undefined;
    if (token.kind !== "option" || spec === undefined) {
      const known = Object.keys(specs)
        .filter((name) => name !== WORDS)
        .map((name) => `--${name}`);
      const near = nearWords(word.replace(/=.*/s, ""), known);
      const hint = near.length > 0 ? `did you mean ${near.join(" or ")}?` : `known are ${known.join(", ")}`;
      throw badInput(`Unknown argument "${word}"; ${hint}`, word);
    }
    const { name, value, inlineValue } = token;
    if (spec.takes !== 0 && (value === undefined || value === "" || (inlineValue !== true && value.startsWith("--")))) {
      throw badInput(`--${name} needs a value`, name);
    }
    add(name, ...(value === undefined ? [] : [value]));
    many = spec.takes === "many" && inlineValue !== true ? name : WORDS;
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
  const value = decimal(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw badInput(`--${name} must be a whole number from ${min} to ${max}, not "${text}"`, name);
  }
  return value;
}

/** @throws LabError("bad-input") naming the first of these options that is given; @param why the rest of the sentence */
export function refuseIdle(parsed: Parsed, options: Iterable<string>, why: string): void {
  for (const name of options) if (parsed.has(name)) throw badInput(`--${name} has no effect ${why}`, name);
}

/** Checks that a file can be written, without changing it; used before long work. @throws Node's error */
export function requireWritable(path: string): void {
  const isNew = !existsSync(path);
  closeSync(openSync(path, "a"));
  if (isNew) rmSync(path);
}

/** The comment at the start of a tool's source; undefined for a bundle. */
function usage(file: string): string | undefined {
  return /^\/\*\*\n?(.*?)\s*\*\//s.exec(readFileSync(file, "utf8"))?.[1]?.replace(/^ \* ?/gm, "");
}

/**
 * Runs a tool: sentences on stderr, exit code 2 for invalid input, 1 for any other failure. If the reader of its output
 * closes, the tool ends quietly, as with SIGPIPE.
 */
export async function runTool(tool: () => Promise<number>): Promise<void> {
  guardTerminal();
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "EPIPE") process.exit(141);
      throw thrown;
    });
  }
  const help = process.argv.includes("--help") ? usage(process.argv[1] as string) : undefined;
  if (help !== undefined) {
    process.stdout.write(`${help}\n`);
    return;
  }
  try {
    process.exitCode = await tool();
  } catch (thrown) {
    const fault = fileFault(thrown);
    if (fault !== undefined || (thrown instanceof Error && "syscall" in thrown)) {
      process.stderr.write(`${fault?.message ?? thrownText(thrown)}\n`);
      process.exitCode = fault === undefined ? 1 : 2;
      return;
    }
    const known = thrown instanceof LabError;
    process.stderr.write(`${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
    if (known) for (const line of thrown.list) process.stderr.write(`  ${line}\n`);
    if (!known && thrown instanceof Error && thrown.stack !== undefined) process.stderr.write(`${thrown.stack}\n`);
    process.exitCode = known && (thrown.code === "bad-input" || thrown.code === "bad-config") ? 2 : 1;
  }
}
