/** Folders of runs in a known state under each file system that the lab stores runs in, with every call followed. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join, sep } from "node:path";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { LOCK_FILE } from "../../../scripts/lib/node/run-lock.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { opfsStore } from "../../../src/engine/storage/opfs-store.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { fakeOpfs } from "../../unit/runs/fake-opfs.ts";
import { rows } from "../same-run.ts";
import type { Need, Tree, Watcher } from "./changes.ts";
import { watchFolder } from "./node-calls.ts";

/** A store in a state of its own. */
export interface Opened {
  readonly store: RunStore;
  /** Path of a folder on disk. */
  readonly folder?: string;
  tree(): Tree;
  close(): void;
}

export interface FileSystem {
  open(tree: Tree, watcher?: Watcher): Opened;
  /** The error with which a call fails when storage is full, read-only, or no longer allowed. */
  error(kind: Failure): Error;
}

export const FAILURES = ["full", "readonly", "withdrawn"] as const;
export type Failure = (typeof FAILURES)[number];

/** Whether a failure refuses a call. */
export function refuses(kind: Failure, need: Need): boolean {
  return kind === "withdrawn" || need === "room" || (kind === "readonly" && need === "change");
}

/** Whether a sentence names the cause of a failure. */
export function causeIn(kind: Failure, message: string): boolean {
  return message.includes(TEXTS[kind]) || (CAUSES[kind]?.test(message) ?? false);
}

/** Number of a process that never exists; the lock of a process that has ended names it. */
const ENDED = 999_999_999;
const IDLE: Watcher = { call: () => undefined, change: () => undefined };

const CODES = { full: "ENOSPC", readonly: "EROFS", withdrawn: "EACCES" } as const;
const TEXTS = {
  full: "no space left on device",
  readonly: "read-only file system",
  withdrawn: "permission denied",
} as const;

/** The lab's own words for a cause. */
const CAUSES: Readonly<Partial<Record<Failure, RegExp>>> = {
  full: /the storage is full|bytes are free/,
  withdrawn: /no longer allows access/,
};

const node: FileSystem = {
  open: (tree, watcher = IDLE) => {
    watchFolder(null, IDLE);
    const folder = join(mkdtempSync(join(tmpdir(), "lab-every-call-")), "runs");
    mkdirSync(folder);
    for (const [path, bytes] of [...tree].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const full = join(folder, path);
      if (bytes === null) mkdirSync(full, { recursive: true });
      else {
        mkdirSync(dirname(full), { recursive: true });
        writeFileSync(full, path.includes(`/${LOCK_FILE}`) ? ofEnded(bytes) : bytes);
      }
    }
    watchFolder(folder, watcher);
    return {
      store: nodeStore(folder),
      folder,
      tree: () => {
        watchFolder(null, IDLE);
        const read = treeOf(folder);
        watchFolder(folder, watcher);
        return read;
      },
      close: () => {
        watchFolder(null, IDLE);
        rmSync(dirname(folder), { recursive: true });
      },
    };
  },
  error: (kind) => Object.assign(new Error(`${CODES[kind]}: ${TEXTS[kind]}`), { code: CODES[kind] }),
};

function treeOf(folder: string): Tree {
  const found = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    found.map((entry) => {
      const full = join(entry.parentPath, entry.name);
      const bytes = entry.isFile() ? new Uint8Array(readFileSync(full)) : null;
      return [full.slice(folder.length + 1).replaceAll(sep, "/"), bytes] as const;
    }),
  );
}

/** The lock as a process that has ended leaves it. */
function ofEnded(bytes: Uint8Array): string {
  return new TextDecoder()
    .decode(bytes)
    .replace(`"pid":${process.pid},"host":"${hostname()}"`, (own) => own.replace(String(process.pid), String(ENDED)));
}

const DOM = {
  full: "QuotaExceededError",
  readonly: "NoModificationAllowedError",
  withdrawn: "NotAllowedError",
} as const;

const browser = (move: boolean): FileSystem => ({
  open: (tree, watcher = IDLE) => {
    const { root, storage, tree: now } = fakeOpfs({ move, quota: 1e9, tree, watcher });
    return { store: opfsStore(root, storage), tree: now, close: () => undefined };
  },
  error: (kind) => new DOMException(TEXTS[kind], DOM[kind]),
});

/** Node's directories, and the browser's private file system as opfs-store.ts uses it, with and without `move`. */
export const FILE_SYSTEMS = {
  node,
  browser: browser(true),
  "browser-without-move": browser(false),
} as const satisfies Readonly<Record<string, FileSystem>>;
export type FileSystemName = keyof typeof FILE_SYSTEMS;

/** Files of a run by their path inside its folder, without its lock. */
export function filesOf(tree: Tree, id: string): Map<string, Uint8Array> {
  const files = [...tree].flatMap(([path, bytes]) => {
    const name = path.slice(id.length + 1);
    return bytes === null || !path.startsWith(`${id}/`) || name.startsWith(LOCK_FILE) ? [] : [[name, bytes] as const];
  });
  return new Map(files.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A store in memory with the files of a run. */
export async function inMemory(tree: Tree, id: string): Promise<RunStore> {
  const store = memoryStore();
  for (const [path, bytes] of filesOf(tree, id)) await store.write(`${id}/${path}`, bytes);
  return store;
}

/** Everything in the files of a run that must be the same in two equal runs, by path: without times and the state of memory. */
export function described(tree: Tree, id: string): Map<string, string> {
  const files = filesOf(tree, id);
  return new Map(
    [...files].map(([path, bytes]) => {
      const text = new TextDecoder().decode(bytes);
      if (path === "metrics.jsonl") return [path, rows(files).join("\n")] as const;
      if (path === "phases.jsonl") return [path, text.replaceAll(/^\{"step":(\d+),.*\}$/gm, "$1")] as const;
      // A manifest that was read and written again has another order; one that is cut off is completed when it is read.
      if (path === "run.json" && isJson(text)) return [path, sorted(JSON.parse(text))] as const;
      return [path, createHash("sha256").update(bytes).digest("hex")] as const;
    }),
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON with the keys of every object in order. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The differences of two described runs as text; empty for equal ones. */
export function compared(wanted: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((path) => {
    const [one, two] = [wanted.get(path), found.get(path)];
    if (one === two) return [];
    return [one === undefined ? `${path} is left over` : two === undefined ? `${path} is missing` : `${path} differs`];
  });
}
