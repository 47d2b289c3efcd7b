/** Signals to the tools, started as package.json starts them. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";

const scratch = mkdtempSync(join(tmpdir(), "lab-stop-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** The words that start a tool, with another program in place of its own. */
function startWords(program: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { train: string } };
  const words = scripts.train.replace("scripts/train.ts", "").trim().split(" ");
  return [...words, program];
}

/** A process in a group of its own, as in a terminal; gets the signals once it has said that it is ready. */
async function signalled(...signals: readonly NodeJS.Signals[]) {
  const program = join(scratch, "busy.mts");
  // A step computes for seconds before Node hears of a signal.
  writeFileSync(
    program,
    `import { onStopSignal } from ${JSON.stringify(join(root, "scripts/lib/stop-signal.ts"))};
    let stopped = false;
    onStopSignal(() => { stopped = true; console.log("stops"); });
    const bell = new Int32Array(new SharedArrayBuffer(4));
    const work = () => {
      if (stopped && process.argv.at(-1) !== "on") return console.log("saved");
      Atomics.wait(bell, 0, 0, 500);
      setImmediate(work);
    };
    console.log("ready");
    work();`,
  );
  const [command, ...words] = startWords(program);
  const bin = join(root, "node_modules", ".bin");
  const child = spawn(command as string, [...words, ...(signals.length > 1 ? ["on"] : [])], {
    cwd: root,
    detached: true,
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
  let said = "";
  let told = "";
  child.stderr.on("data", (text: Buffer) => {
    told += String(text);
  });
  const left = [...signals];
  child.stdout.on("data", (text: Buffer) => {
    said += String(text);
    const signal = left.shift();
    if (signal !== undefined) process.kill(-(child.pid as number), signal);
  });
  const ended = await new Promise((done) => child.once("close", (code, signal) => done(signal ?? code)));
  return { ended, said: said.trim().split("\n"), told: told.trim() };
}

const TOLD = "Stopping: what is done will be saved. Press Ctrl+C again to end at once";

it.each(["SIGINT", "SIGTERM"] as const)("%s lets a tool finish its step and save", async (signal) => {
  expect(await signalled(signal)).toEqual({ ended: 0, said: ["ready", "stops", "saved"], told: TOLD });
});

it("a second signal ends a tool that does not stop", async () => {
  expect(await signalled("SIGINT", "SIGINT")).toEqual({ ended: "SIGINT", said: ["ready", "stops"], told: TOLD });
});
