/** Paths that `npm run train` takes, checked before anything is loaded. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { tool } from "../../support/tools.ts";
import { manifest } from "../runs/sample-run.ts";

const out = mkdtempSync(join(tmpdir(), "lab-train-"));
beforeAll(() => createRun(nodeStore(out), manifest("kept")));
afterAll(() => rmSync(out, { recursive: true, force: true }));

it.each(["kept", "kept/", () => join(out, "kept"), () => `${join(out, "kept")}/`])(
  "takes a run that goes on by its name or its path (%s)",
  async (named) => {
    const text = typeof named === "string" ? named : named();
    const done = await tool("train", ["--resume", text, "--preset", "real", "--out", out]);
    expect(done).toMatchObject({ code: 2, err: expect.stringMatching(/^--resume continues with the run's settings/) });
  },
);

it("names a file that is a folder", async () => {
  const done = await tool("train", ["--difficulty", out, "--out", out]);
  expect(done).toMatchObject({ code: 2, err: `${out} cannot be read: it is a folder\n` });
});

it("names a run that is not there", async () => {
  const other = await tool("train", ["--resume", "gone/", "--out", out]);
  expect(other).toMatchObject({ code: 2, err: expect.stringMatching(/^--out has no run "gone"/) });
  const folder = join(out, "gone");
  const first = await tool("train", ["--first-evaluation", folder, "--out", out]);
  expect(first).toMatchObject({ code: 2, err: `--first-evaluation: ${folder} holds no run.json\n` });
});
