/** Replies by the content of what was asked. Nothing else decides a hit: no row id, no address, no key. */
import * as z from "zod/mini";
import { sha256Hex } from "../../bytes/hash.ts";
import { parseJsonAs } from "../../bytes/json.ts";
import type { ChatRequest } from "./providers/provider.ts";

/** Where lines are kept; a run store's file fits. */
export interface CacheFile {
  /** The whole text, "" when there is none. */
  read(): Promise<string>;
  append(line: string): Promise<void>;
}

export interface ReplyCache {
  get(key: string): string | undefined;
  put(key: string, reply: string): Promise<void>;
  readonly size: number;
}

/** Replies of this process only. */
export function memoryCache(): ReplyCache {
  return fileCache([], async () => undefined);
}

/**
 * Replies of earlier runs too: one JSON line each. A line that cannot be read (the last of a run that was killed) is left
 * out. When the file cannot be written the replies are kept in memory and `onFailure` is called once.
 */
export async function openCache(file: CacheFile, onFailure: (thrown: unknown) => void): Promise<ReplyCache> {
  const text = await file.read();
  // A cut-off last line must not swallow the next one.
  let gap = text !== "" && !text.endsWith("\n") ? "\n" : "";
  let broken = false;
  return fileCache(text.split("\n"), async (line) => {
    if (broken) return;
    try {
      await file.append(`${gap}${line}\n`);
      gap = "";
    } catch (thrown) {
      broken = true;
      onFailure(thrown);
    }
  });
}

function fileCache(lines: readonly string[], append: (line: string) => Promise<void>): ReplyCache {
  const replies = new Map<string, string>();
  for (const line of lines) {
    const entry = readLine(line);
    if (entry !== null) replies.set(entry.key, entry.reply);
  }
  // One append at a time: two at once could mix their bytes.
  let last: Promise<void> = Promise.resolve();
  return {
    get: (key) => replies.get(key),
    put: (key, reply) => {
      replies.set(key, reply);
      last = last.then(() => append(JSON.stringify({ key, reply })));
      return last;
    },
    get size() {
      return replies.size;
    },
  };
}

const ENTRY = z.object({ key: z.string(), reply: z.string() });

function readLine(line: string): z.output<typeof ENTRY> | null {
  if (line === "") return null;
  try {
    return parseJsonAs(line, ENTRY, "A reply");
  } catch {
    // Cut off by a crash; the reply is asked for again.
    return null;
  }
}

/** Key of a request: kind of judge, model, version of the prompts, and every word of it. */
export async function replyKey(kind: string, model: string, version: string, request: ChatRequest): Promise<string> {
  const content = JSON.stringify([kind, model, version, request.messages, request.schema, request.maxTokens]);
  return sha256Hex(new TextEncoder().encode(content));
}
