/**
 * The Python files that a checkpoint's `auto_map` needs. transformers runs them when it loads the folder with remote
 * code. The lab only fetches and copies them, and reads their imports.
 */
import { isRecord } from "../bytes/json.ts";

/** Limits for a checkpoint's code: bytes per file, and number of files. */
export const MAX_CODE_BYTES = 2 ** 20;
export const MAX_CODE_FILES = 64;

/** A Python file at the top of the folder; transformers looks nowhere else. */
export const isCodeFile = (path: string): boolean => /^\w+\.py$/.test(path);

interface RemoteCode {
  /** Existing files, in the order of discovery. */
  readonly found: readonly string[];
  /** Needed files that are missing or too large. */
  readonly missing: readonly string[];
}

/**
 * Finds the modules of every `auto_map` and follows their relative imports.
 * @param configs the parsed config.json and tokenizer_config.json that exist
 * @param read text of a file; null if it is missing or too large
 */
export async function remoteCode(
  configs: readonly unknown[],
  read: (path: string) => Promise<string | null>,
): Promise<RemoteCode> {
  const waiting = configs.flatMap(mappedModules).map((module) => `${module}.py`);
  const found: string[] = [];
  const missing: string[] = [];
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (found.includes(path) || missing.includes(path)) continue;
    const text = found.length < MAX_CODE_FILES ? await read(path) : null;
    if (text === null) missing.push(path);
    else {
      found.push(path);
      waiting.push(...relativeImports(text).map((module) => `${module}.py`));
    }
  }
  return { found, missing };
}

/**
 * Modules of an `auto_map`: "module.Class", or a list of such names and nulls. Code of other repositories is skipped.
 */
function mappedModules(config: unknown): string[] {
  const map = isRecord(config) && isRecord(config.auto_map) ? Object.values(config.auto_map) : [];
  return map.flat().flatMap((name) => {
    const module = typeof name === "string" ? /^(\w+)\.\w+$/.exec(name)?.[1] : undefined;
    return module === undefined ? [] : [module];
  });
}

function relativeImports(text: string): string[] {
  return [...text.matchAll(/^[ \t]*(?:from[ \t]+\.(\w+)[ \t]+import\b|import[ \t]+\.(\w+)[ \t]*$)/gm)].flatMap(
    ([, from, plain]) => from ?? plain ?? [],
  );
}
