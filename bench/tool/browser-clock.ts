/**
 * Processor time of a browser with all its processes, from Linux' accounting by thread (run time in nanoseconds). The
 * software adapters compute in the browser's GPU process, so other load on the machine does not count.
 */
import { readdirSync, readFileSync } from "node:fs";
import { LabError } from "../../src/engine/errors.ts";

/** Text of a file under /proc; "" if its process has ended. */
function proc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "utf8");
  } catch {
    return "";
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

/** Numbers of all processes below one. */
export function descendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of list("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    // The name in brackets may contain anything; the parent comes after it.
    const parent = Number(/^.*\) \S (\d+)/s.exec(proc(`${entry}/stat`))?.[1] ?? -1);
    children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const below = (of: number): number[] => (children.get(of) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/**
 * @param without processes that do not belong to the browser
 * @returns milliseconds so far at every call; threads that ended keep counting
 * @throws LabError("unsupported") when the system has no such accounting
 */
export function browserClock(without: ReadonlySet<number>): () => number {
  if (proc("self/schedstat") === "") {
    throw new LabError("unsupported", "--processor-time in Chromium needs Linux with scheduler statistics");
  }
  const seen = new Map<string, number>();
  return () => {
    for (const pid of descendants(process.pid)) {
      if (without.has(pid)) continue;
      for (const thread of list(`/proc/${pid}/task`)) {
        const time = Number(proc(`${pid}/task/${thread}/schedstat`).split(" ")[0]);
        if (time > 0) seen.set(`${pid}/${thread}`, time);
      }
    }
    return [...seen.values()].reduce((sum, time) => sum + time, 0) / 1e6;
  };
}
