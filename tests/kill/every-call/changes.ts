/** Changes to a folder, one by one, and the states that a crash among them can leave. */

/** `path` and `to` are relative to the folder and "/" separated. */
export type Change =
  | { readonly do: "mkdir" | "create" | "sync" | "remove"; readonly path: string }
  | { readonly do: "resize"; readonly path: string; readonly size: number }
  | { readonly do: "write"; readonly path: string; readonly at: number; readonly bytes: Uint8Array }
  | { readonly do: "move" | "link"; readonly path: string; readonly to: string };

/** Content by path; null for a folder. */
export type Tree = ReadonlyMap<string, Uint8Array | null>;

/** What a call of a store's file system needs: nothing but to read, to change what is there, or more room. */
export type Need = "read" | "change" | "room";

/** Follows the calls of a store to its file system. */
export interface Watcher {
  /** Before every call; throws the error with which the call fails. */
  call(name: string, path: string, need: Need): void;
  /** After every change. */
  change(change: Change): void;
}

/**
 * How a process ends at a change: before it ("stop"), in the middle of it ("torn"), or with the power of the machine, which
 * also takes what was written and not flushed ("power"). File systems write their folders' changes in order, so that of
 * two renames the later one is never kept alone.
 */
export const CRASHES = ["stop", "torn", "power"] as const;
export type Crash = (typeof CRASHES)[number];

export interface CrashState {
  /** Number of whole changes before the crash. */
  readonly at: number;
  /** The change that the crash prevented or cut, as text. */
  readonly what: string;
  readonly tree: Tree;
}

/** A folder as its file system shows it, and the content of its files as it is on the disk for certain. */
class Disk {
  readonly tree: Map<string, Uint8Array | null>;
  /** Files with content that is not flushed, and what was flushed before. */
  readonly flushed = new Map<string, Uint8Array>();

  constructor(tree: Tree) {
    this.tree = new Map(tree);
  }

  #file(path: string): Uint8Array {
    const bytes = this.tree.get(path);
    if (bytes instanceof Uint8Array) return bytes;
    throw new Error(`${path} is not a file: a change of the log is missing`);
  }

  #set(path: string, bytes: Uint8Array): void {
    if (!this.flushed.has(path)) this.flushed.set(path, this.tree.get(path) ?? new Uint8Array());
    this.tree.set(path, bytes);
  }

  apply(change: Change): void {
    const { path } = change;
    if (change.do === "mkdir") this.tree.set(path, null);
    else if (change.do === "create") this.#set(path, new Uint8Array());
    else if (change.do === "sync") this.flushed.delete(path);
    else if (change.do === "remove") {
      for (const known of below(this.tree, path)) this.#drop(known);
    } else if (change.do === "resize") {
      const sized = new Uint8Array(change.size);
      sized.set(this.#file(path).subarray(0, change.size));
      this.#set(path, sized);
    } else if (change.do === "write") {
      const before = this.#file(path);
      const grown = new Uint8Array(Math.max(before.length, change.at + change.bytes.length));
      grown.set(before);
      grown.set(change.bytes, change.at);
      this.#set(path, grown);
    } else if (change.do === "move" && this.tree.get(path) === null) {
      for (const known of below(this.tree, path)) {
        this.tree.set(`${change.to}${known.slice(path.length)}`, this.tree.get(known) ?? null);
        this.#drop(known);
      }
    } else if (change.do === "move" || change.do === "link") {
      const flushed = this.flushed.get(path);
      this.tree.set(change.to, this.#file(path));
      this.flushed.delete(change.to);
      if (flushed !== undefined) this.flushed.set(change.to, flushed);
      if (change.do === "move") this.#drop(path);
    }
  }

  #drop(path: string): void {
    this.tree.delete(path);
    this.flushed.delete(path);
  }

  /** The folder with other content in the files that are not flushed. */
  without(content: (now: Uint8Array, flushed: Uint8Array) => Uint8Array): Tree {
    const tree = new Map(this.tree);
    for (const [path, flushed] of this.flushed) tree.set(path, content(this.#file(path), flushed));
    return tree;
  }
}

/** A path and everything below it, sorted. */
function below(tree: Tree, path: string): string[] {
  return [...tree.keys()].filter((known) => known === path || known.startsWith(`${path}/`)).sort();
}

function told(change: Change | undefined): string {
  if (change === undefined) return "the end";
  const { path } = change;
  if (change.do === "write") return `write ${change.bytes.length} bytes to ${path}`;
  if (change.do === "resize") return `resize ${path} to ${change.size}`;
  return "to" in change ? `${change.do} ${path} to ${change.to}` : `${change.do} ${path}`;
}

/** The folder after all changes. */
export function changed(base: Tree, changes: readonly Change[]): Tree {
  const disk = new Disk(base);
  for (const change of changes) disk.apply(change);
  return disk.tree;
}

/** Every state that such a crash among the changes can leave, in their order. */
export function* crashStates(base: Tree, changes: readonly Change[], kind: Crash): Generator<CrashState> {
  const disk = new Disk(base);
  for (let at = 0; at <= changes.length; at++) {
    const change = changes[at];
    const what = told(change);
    if (kind === "stop") yield { at, what: `before ${what}`, tree: new Map(disk.tree) };
    if (kind === "power" && disk.flushed.size > 0) {
      yield { at, what: `unflushed bytes lost before ${what}`, tree: disk.without((_, flushed) => flushed) };
      yield { at, what: `unflushed bytes zero before ${what}`, tree: disk.without(zeroed) };
    }
    if (change === undefined) return;
    if (kind === "torn") for (const part of parts(disk.tree, change)) yield { at, ...part };
    disk.apply(change);
  }
}

/** The length of the file is kept and its new bytes are not. */
function zeroed(now: Uint8Array, flushed: Uint8Array): Uint8Array {
  const begins = flushed.every((byte, at) => now[at] === byte);
  const bytes = new Uint8Array(now.length);
  if (begins) bytes.set(flushed);
  return bytes;
}

/** The states in the middle of a change: half of its bytes, all but one, either half of a folder's files. */
function* parts(tree: Tree, change: Change): Generator<{ readonly what: string; readonly tree: Tree }> {
  if (change.do === "write" && change.bytes.length > 1) {
    const size = change.bytes.length;
    for (const share of new Set([size >> 1, size - 1])) {
      const disk = new Disk(tree);
      disk.apply({ ...change, bytes: change.bytes.subarray(0, share) });
      yield { what: `${share} bytes of ${told(change)}`, tree: disk.tree };
    }
  }
  if (change.do !== "remove") return;
  const files = below(tree, change.path).filter((path) => tree.get(path) !== null);
  if (files.length < 2) return;
  for (const [half, gone] of [
    ["first", files.slice(0, files.length >> 1)],
    ["last", files.slice(files.length >> 1)],
  ] as const) {
    const left = new Map(tree);
    for (const path of gone) left.delete(path);
    yield { what: `the ${half} half of ${told(change)}`, tree: left };
  }
}
