/** Failures of the file system: one sentence with the path, whatever the system calls them. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fileCause, fileFault } from "../../../scripts/lib/node/file-fault.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { writeOut } from "../../../scripts/lib/out-folder.ts";

const folder = mkdtempSync(join(tmpdir(), "faults-"));
const file = join(folder, "file");
writeFileSync(file, "x");
afterAll(() => rmSync(folder, { recursive: true }));

const failed = (code: string, syscall = "mkdir") =>
  Object.assign(new Error(`${code}: raw text, ${syscall} '/mnt/out'`), { code, syscall, path: "/mnt/out" });

test.each([
  ["EACCES", "mkdir", "/mnt/out cannot be written: permission denied"],
  ["EPERM", "unlink", "/mnt/out cannot be written: permission denied"],
  ["EROFS", "open", "/mnt/out cannot be written: read-only file system"],
  ["ENOSPC", "write", "/mnt/out cannot be written: the storage is full"],
  ["ENOENT", "open", "/mnt/out cannot be opened: there is no such file or folder"],
  ["ENOTDIR", "scandir", "/mnt/out cannot be opened: a part of its path is not a folder"],
  ["EMFILE", "open", "/mnt/out cannot be opened: this process has too many open files"],
])("%s of %s is said in words", (code, syscall, sentence) => {
  expect(fileFault(failed(code, syscall))).toMatchObject({ code: "storage", message: sentence });
});

test("other errors keep their message", () => {
  expect(fileFault(new Error("x"))).toBeUndefined();
  expect(fileCause(new Error("a plain error"))).toBe("a plain error");
  expect(fileCause(failed("EXOTIC"))).toBe("EXOTIC: raw text, mkdir '/mnt/out'");
});

test("a run that cannot be locked or stored names its folder and the cause", async () => {
  const below = join(file, "run-1");
  await expect(nodeStore(file).hold?.("run-1")).rejects.toThrow(
    `${join(below, ".lock")} could not be written: a part of its path is not a folder; earlier files are kept`,
  );
  await expect(nodeStore(file).write("run-1/run.json", "{}")).rejects.toThrow(
    `${join(below, "run.json")} could not be written: a part of its path is not a folder; earlier files are kept`,
  );
  await expect(nodeStore(file).append("run-1/metrics.jsonl", "{}")).rejects.toThrow(
    /a part of its path is not a folder/,
  );
  await expect(writeOut(join(file, "out"), async () => undefined)).rejects.toThrow(/not a folder|not a directory/i);
});

test.runIf(existsSync("/proc/self"))("a folder where the system allows none is refused in words", async () => {
  await expect(nodeStore("/proc/none").hold?.("run-1")).rejects.toThrow(
    "/proc/none/run-1/.lock could not be written: there is no such file or folder; earlier files are kept",
  );
});
