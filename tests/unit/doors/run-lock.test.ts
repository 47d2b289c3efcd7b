/** Two processes never write one run; the lock of a process that has ended is taken over. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { LOCK_FILE, lockRun } from "../../../scripts/lib/node/run-lock.ts";
import { holdOrRefuse } from "../../../src/engine/rl/run/start/run-facts.ts";

const scratch = mkdtempSync(join(tmpdir(), "locks-"));
const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(scratch, { recursive: true, force: true });
});

const NOW = "2026-03-04T05:06:07.000Z";
const take = (run: string): (() => void) => lockRun(join(scratch, run), run, NOW);

/** A process that takes a run and then waits; settles once it has said what came of it. */
function other(run: string): Promise<{ readonly child: ChildProcess; readonly said: string }> {
  const code = `import { lockRun } from ${JSON.stringify(join(root, "scripts/lib/node/run-lock.ts"))};
    try { lockRun(${JSON.stringify(join(scratch, run))}, ${JSON.stringify(run)}, ${JSON.stringify(NOW)}); console.log("taken"); }
    catch (thrown) { console.log(thrown.message); }
    setInterval(() => {}, 1000);`;
  const script = join(scratch, `${run}-${children.length}.mts`);
  writeFileSync(script, code);
  const child = spawn(process.execPath, ["--import", "tsx", script], { cwd: root });
  children.push(child);
  return new Promise((resolve, reject) => {
    child.stdout.once("data", (data: Buffer) => resolve({ child, said: String(data).trim() }));
    child.stderr.once("data", (data: Buffer) => reject(new Error(String(data))));
  });
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.once("exit", () => resolve());
    child.kill("SIGKILL");
  });

/** Leaves a lock as another process would have. */
function leave(run: string, text: string): void {
  mkdirSync(join(scratch, run));
  writeFileSync(join(scratch, run, LOCK_FILE), text);
}

describe("a run", () => {
  it("belongs to one process at a time, and to the next once that has given it back", async () => {
    const release = take("shared");
    const { said } = await other("shared");
    expect(said).toMatch(
      new RegExp(
        `^Run "shared" is running in process ${process.pid} on "${hostname()}", since "${NOW}"; stop it first`,
      ),
    );
    expect(() => take("shared")).toThrow(/running in process/);
    release();
    expect((await other("shared")).said).toBe("taken");
    expect(() => take("shared")).toThrow(/running in process/);
  });

  it("of a process that was killed is taken over", async () => {
    const { child, said } = await other("killed");
    expect(said).toBe("taken");
    expect(() => take("killed")).toThrow(/running in process/);
    await ended(child);
    take("killed")();
    expect(existsSync(join(scratch, "killed"))).toBe(false);
  });

  it.each<[string, string, boolean]>([
    ["a process that is gone", JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), start: null, since: NOW }), true],
    [
      "a process whose number is another's now",
      JSON.stringify({ pid: process.pid, host: hostname(), start: "1", since: NOW }),
      true,
    ],
    ["another machine", JSON.stringify({ pid: 1, host: "elsewhere", start: null, since: NOW }), false],
    ["nobody, cut off", '{"pid": 12', false],
    ["nobody, deep", "[".repeat(20_000), false],
  ])("locked by %s is taken over or left alone", async (who, text, free) => {
    leave(who, text);
    if (free) take(who)();
    else expect(() => take(who)).toThrow(/running in .*; stop it first, or remove .*\.lock if it has ended$/);
  });

  it("is locked where a session takes it, and its lock is no file of it", async () => {
    const store = nodeStore(scratch);
    const release = await holdOrRefuse(store, "stored");
    await store.write("stored/run.json", "{}");
    await expect(holdOrRefuse(store, "stored")).rejects.toThrow(/Run "stored" is running in process/);
    expect((await store.list("stored")).map(({ path }) => path)).toEqual(["stored/run.json"]);
    release();
    expect(readdirSync(join(scratch, "stored"))).toEqual(["run.json"]);
  });
});
