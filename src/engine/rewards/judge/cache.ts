/** Cached replies by the content of the request. Row ids, addresses and keys are not part of the key. */
import * as z from "zod/mini";
import { sha256Hex } from "../../bytes/hash.ts";
import { intactJson } from "../../bytes/json.ts";
import type { ChatRequest } from "./providers/provider.ts";

/** Storage of the cache lines, such as a file of a run store. */
interface CacheFile {
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
 * A cache that includes replies of earlier runs, one JSON line each. Lines that cannot be read (the last one of a
 * killed run) are skipped. When the file cannot be written, replies are kept in memory and `onFailure` is called once.
 */
export async function openCache(file: CacheFile, onFailure: (thrown: unknown) => void): Promise<ReplyCache> {
  const text = await file.read();
  // After a truncated last line, start a new line.
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
    // The request of a truncated line is sent again.
    const entry = intactJson(line, ENTRY);
    if (entry !== undefined) replies.set(entry.key, entry.reply);
  }
  // One append at a time: concurrent ones could mix their bytes.
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

/** Key of a request: kind of judge, model, version of the prompts, and the whole request. */
export async function replyKey(kind: string, model: string, version: string, request: ChatRequest): Promise<string> {
  const content = JSON.stringify([kind, model, version, request.messages, request.schema, request.maxTokens]);
  return sha256Hex(new TextEncoder().encode(content));
}
