import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseTable } from "../../src/engine/tuning/table.ts";
import { bundledTool } from "../support/tools.ts";

test("an interrupted tuning leaves the forms measured so far", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tune-"));
  try {
    const out = join(folder, "cut.json");
    const sizes = [
      "--model",
      "tests/golden/sa2va-tiny-qwen2",
      "--set",
      "numGenerations=2",
      "--set",
      "promptsPerStep=1",
    ];
    const words = [await bundledTool("tune"), ...sizes, "--out", out];
    const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    let asked = false;
    for await (const piece of child.stderr) {
      said += String(piece);
      // A second signal would end it at once.
      if (!asked && /^2 of \d+: /m.test(said)) asked = child.kill("SIGINT");
    }
    expect(said).toContain("Tuning was stopped; forms measured so far are kept");
    expect(parseTable(await readFile(out, "utf8"), out).entries.length).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});
