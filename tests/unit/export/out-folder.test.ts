/** The files left by an export that cannot be finished, and the message to its user. */
import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import { wholeFile } from "../../../src/engine/export/export-file.ts";

let scratch = "";
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "lab-out-"));
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

test.skipIf(process.platform !== "linux")(
  "a full disk gives one sentence with the file, and nothing is left",
  async () => {
    const written = writeOut(join(scratch, "full"), async (out) => {
      // This device has no space for anything.
      await symlink("/dev/full", join(out.path, "model.safetensors"));
      await out.add(
        (async function* () {
          yield wholeFile("config.json", "{}");
          yield wholeFile("model.safetensors", "weights");
        })(),
      );
    });
    await expect(written).rejects.toMatchObject({
      code: "storage",
      subject: "model.safetensors",
      message: "model.safetensors could not be written: the storage is full; nothing of the export was kept",
    });
    expect(await readdir(scratch)).toEqual([]);
  },
);

test.skipIf(process.platform !== "linux")("a folder that cannot be made is refused in one sentence", async () => {
  for (const target of ["/proc/lab-out", "/proc/lab-out/below"]) {
    const written = writeOut(target, () => Promise.reject(new Error("reached")));
    await expect(written).rejects.toMatchObject({
      code: "bad-input",
      message: expect.stringMatching(new RegExp(`^${target} cannot be written: .*; nothing was written$`)),
    });
  }
});

test("an error of a file's content is not taken for one of the disk", async () => {
  const file = {
    path: "a.bin",
    async *pieces() {
      yield new Uint8Array(3);
      throw new Error("the source is gone");
    },
  };
  const written = writeOut(join(scratch, "gone"), (out) =>
    out.add(
      (async function* () {
        yield file;
      })(),
    ),
  );
  await expect(written).rejects.toThrow(/^the source is gone$/);
  expect(await readdir(scratch)).toEqual([]);
});

test("a signal ends it after the piece in progress, and nothing is left", async () => {
  const program = join(scratch, "stopped.mts");
  const from = (path: string): string => JSON.stringify(join(root, path));
  await writeFile(
    program,
    `import { runTool } from ${from("scripts/lib/arguments.ts")};
    import { writeOut } from ${from("scripts/lib/out-folder.ts")};
    const heard = async () => { while (process.listenerCount("SIGTERM") > 0) await new Promise((done) => setImmediate(done)); };
    async function* pieces() {
      yield new Uint8Array(3);
      process.kill(process.pid, "SIGTERM");
      await heard();
      yield new Uint8Array(3);
    }
    async function* files() { yield { path: "a.bin", pieces }; }
    await runTool(async () => {
      await writeOut(process.argv[2], (out) => out.add(files()));
      return 0;
    });`,
  );
  const child = spawn(process.execPath, ["--import", "tsx", program, join(scratch, "out")], { cwd: root });
  let said = "";
  child.stderr.on("data", (text: Buffer) => {
    said += String(text);
  });
  const code = await new Promise((done) => child.once("close", (exit, signal) => done(signal ?? exit)));
  const lines = [
    "Stopping: nothing incomplete is kept. Press Ctrl+C again to end at once",
    "The export was stopped; nothing of it was kept",
    "",
  ];
  expect([code, said.split("\n")]).toEqual([1, lines]);
  expect(await readdir(scratch)).toEqual(["stopped.mts"]);
});
