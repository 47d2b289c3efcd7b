/**
 * A run folder logged to Weights & Biases offline, read back as `wandb sync` reads it. PYTHON names an interpreter with
 * wandb and the package's requirements; without one this is skipped.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { appendAlarm } from "../../../src/engine/runs/alarms.ts";
import { writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { writeNotes } from "../../../src/engine/runs/notes.ts";
import { evaluationValues } from "../../../src/engine/runs/run-events.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { python } from "../../support/tools.ts";
import { evaluation } from "../runs/sample-evaluations.ts";
import { manifest } from "../runs/sample-run.ts";

const needed = await python("-c", "import wandb, torch, pyarrow, nltk, transformers, peft");
if (needed.code !== 0) console.warn("Skipped: no Python with wandb, torch, pyarrow, nltk, peft; set PYTHON to one");

test.skipIf(needed.code !== 0)(
  "an offline run holds settings, notes, alarms and every number at its step",
  async () => {
    const place = await mkdtemp(join(tmpdir(), "lab-wandb-"));
    try {
      const store = nodeStore(join(place, "runs"));
      const run = await createRun(store, manifest("brave-otter", { state: "finished" }));
      await run.appendStep(1, { "loop1/reward": 0.25, "loop1/kl": Number.NaN });
      await run.appendStep(2, { "loop1/reward": 1 / 3 });
      const [start, end] = [evaluation(0, 0.25), evaluation(2, 0.5)];
      await writeEvaluations(store, run.id, [start, end]);
      await appendAlarm(store, run.id, { id: "kl-jump", step: 2, severity: "warning", message: "KL jumped" });
      await writeNotes(store, run.id, { text: "best so far", tags: ["good", "masks"] });

      process.env.PYTHONPATH = [join(root, "python"), process.env.PYTHONPATH ?? ""].filter(Boolean).join(":");
      const words = [join(place, "runs", run.id), "--dir", join(place, "out"), "--project", "trials"];
      const done = await python(join(root, "python/tools/to_wandb.py"), ...words);
      expect(done.code, done.err).toBe(0);
      const folder = /^wandb sync (.+)$/m.exec(done.out)?.[1] ?? "";
      const read = await python(join(root, "tests/oracle/read_wandb.py"), folder);
      expect(read.code, read.err).toBe(0);
      const said = JSON.parse(read.out) as Readonly<Record<string, unknown>>;
      const { config, model, title } = run.manifest();
      expect(said).toMatchObject({
        ...{ id: run.id, name: title, project: "trials", notes: "best so far", tags: ["good", "masks"] },
        config: { ...config, run: { model } },
        tables: { alarms: [[2, "warning", "kl-jump", "KL jumped"]] },
      });
      expect(said.history).toEqual({
        0: evaluationValues(start.report),
        1: { "loop1/reward": 0.25, "loop1/kl": "NaN" },
        2: { "loop1/reward": 1 / 3, ...evaluationValues(end.report) },
      });
      const none = await python(join(root, "python/tools/to_wandb.py"), place, "--dir", join(place, "out"));
      expect([none.code, none.err]).toEqual([2, expect.stringMatching(/run\.json/)]);
    } finally {
      await rm(place, { recursive: true });
    }
  },
);
