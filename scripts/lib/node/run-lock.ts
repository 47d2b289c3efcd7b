/** One process writes a run; a lock file in its folder names it. The lock of a process that has ended is taken over. */
import { linkSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJsonAs } from "../../../src/engine/bytes/json.ts";
import { badInput, LabError, quote } from "../../../src/engine/errors.ts";
import { errorCode, makeFolder } from "./file-fault.ts";

/** Name of the lock in a run folder; it does not belong to the run and is never listed. */
export const LOCK_FILE = ".lock";

const OWNER = z.object({
  pid: z.number().check(z.int(), z.gte(1)),
  host: z.string(),
  /** Distinguishes the process from a later one of the same number, if the system reports it. */
  start: z.nullable(z.string()),
  since: z.string(),
});
type Owner = z.output<typeof OWNER>;

/** Locks that this process holds. */
const held = new Set<string>();

/**
 * Takes a run for this process.
 * @param directory of the run
 * @param now ISO time
 * @returns the function that releases it
 * @throws LabError("bad-input") naming the process that holds it; Node's error when the folder cannot be written
 */
export function lockRun(directory: string, runId: string, now: string): () => void {
  const path = join(directory, LOCK_FILE);
  const own: Owner = { pid: process.pid, host: hostname(), start: startOf(process.pid), since: now };
  makeFolder(directory);
  for (let attempt = 0; !placed(path, own); attempt++) {
    const owner = ownerOf(path);
    // Released meanwhile: the next attempt takes it.
    if (owner === "none") continue;
    if (owner === "unknown" || isAlive(owner, path) || attempt > 10) throw refused(runId, owner, path);
    takeAway(path, owner);
  }
  held.add(path);
  const release = (): void => {
    process.off("exit", release);
    held.delete(path);
    try {
      const owner = ownerOf(path);
      if (typeof owner !== "object" || !same(owner, own)) return;
      rmSync(path, { force: true });
      // A run that was never created leaves no folder.
      if (readdirSync(directory).length === 0) rmdirSync(directory);
    } catch (thrown) {
      // The folder can no longer be changed: the lock stays, and counts as that of a process that has ended.
      if (errorCode(thrown) === undefined) throw thrown;
    }
  };
  process.on("exit", release);
  return release;
}

/** Creates the complete lock file unless it exists. */
function placed(path: string, own: Owner): boolean {
  const written = `${path}.${own.pid}`;
  // Flushed: a lock without content, as a power cut leaves it, could not be told from one that is held.
  writeFileSync(written, `${JSON.stringify(own)}\n`, { flush: true });
  try {
    linkSync(written, path);
    return true;
  } catch (thrown) {
    if (errorCode(thrown) === "EEXIST") return false;
    throw thrown;
  } finally {
    rmSync(written, { force: true });
  }
}

function ownerOf(path: string): Owner | "none" | "unknown" {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return "none";
    throw thrown;
  }
  try {
    return parseJsonAs(text, OWNER, path);
  } catch (thrown) {
    if (thrown instanceof LabError) return "unknown";
    throw thrown;
  }
}

/** Removes the lock of a process that has ended, unless another process was faster. */
function takeAway(path: string, ended: Owner): void {
  const aside = `${path}.${process.pid}.ended`;
  try {
    renameSync(path, aside);
  } catch (thrown) {
    if (errorCode(thrown) === "ENOENT") return;
    throw thrown;
  }
  const taken = ownerOf(aside);
  // Another process took it over meanwhile: put its lock back.
  if (typeof taken === "object" && !same(taken, ended)) linkSync(aside, path);
  rmSync(aside, { force: true });
}

/** Whether the process may still hold its lock; true for another machine, where this is unknown. */
function isAlive({ pid, host, start }: Owner, path: string): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    // Another user's process cannot be signalled, but it exists.
    if (errorCode(thrown) !== "EPERM") return false;
  }
  const now = startOf(pid);
  const alive = start === null || now === null || start === now;
  return alive && (pid !== process.pid || held.has(path));
}

/** Start time of a process in the system's units; null if the system does not report it. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    // No such process, or a system without /proc.
    return null;
  }
}

function same(a: Owner, b: Owner): boolean {
  return a.pid === b.pid && a.host === b.host && a.start === b.start && a.since === b.since;
}

function refused(runId: string, owner: Owner | "unknown", path: string): LabError {
  const who =
    owner === "unknown"
      ? "another process"
      : `process ${owner.pid} on ${quote(owner.host)}, since ${quote(owner.since)}`;
  return badInput(`Run ${quote(runId)} is running in ${who}; stop it first, or remove ${path} if it has ended`, runId);
}
