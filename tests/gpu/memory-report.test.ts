/** Every tensor that outlives a step has an owner by name. */
import { beforeAll, describe, expect, it } from "vitest";
import type { MemoryReport, Owner } from "../../src/engine/session/memory-report.ts";
import { openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab({ features: null });
});

const owners = (report: MemoryReport): Owner[] => report.owners.map(({ owner }) => owner);
const of = (report: MemoryReport, owner: Owner) => report.owners.find((holding) => holding.owner === owner);

describe("between steps", () => {
  it("a loaded model is all there is", async () => {
    const { memory, rate } = await lab.session.system();
    expect(rate).toBeNull();
    expect(owners(memory).filter((owner) => !/^(frozen|published|pool)/.test(owner))).toEqual([]);
    const parts = owners(memory).filter((owner) => owner.startsWith("frozen"));
    expect(parts).toEqual(
      expect.arrayContaining(["frozen vision", "frozen language", "frozen embedding", "frozen sam-encoder"]),
    );
    const model = lab.session.model;
    expect(memory.tensors).toBe((model?.frozen.size ?? 0) + (model?.base.size ?? 0));
    expect(memory.owners.reduce((sum, { bytes }) => sum + bytes, 0) - (of(memory, "pool")?.bytes ?? 0)).toBe(
      memory.bytes,
    );
  });

  it("what a run holds is its five sets and its features, and every byte has an owner", async () => {
    const reports: Promise<MemoryReport>[] = [];
    lab.watch = (event, session) => {
      if (event.type === "step") reports.push(session.system().then(({ memory }) => memory));
    };
    const run = await lab.start({ steps: 3 });
    await run.done;
    lab.watch = () => undefined;
    const [first, second, third] = await Promise.all(reports);
    expect(third?.tensors).toBe(second?.tensors);
    for (const report of [first, second, third] as MemoryReport[]) {
      const trained = of(report, "trained");
      expect(trained?.tensors).toBeGreaterThan(0);
      for (const owner of ["partner", "start"] as const) {
        expect(of(report, owner), owner).toMatchObject({ tensors: trained?.tensors, bytes: trained?.bytes });
      }
      // Moments lie one after another in few tensors, with little space between them.
      for (const owner of ["first moments", "second moments"] as const) {
        const bytes = of(report, owner)?.bytes ?? 0;
        expect(bytes, owner).toBeGreaterThanOrEqual(trained?.bytes ?? 0);
        expect(bytes, owner).toBeLessThan(1.02 * (trained?.bytes ?? 0));
      }
      expect(of(report, "features")?.hostBytes).toBeGreaterThan(0);
      expect(of(report, "decoding")?.bytes).toBeGreaterThan(0);
      expect(of(report, "work")).toBeUndefined();
      expect(report.owners.reduce((sum, { tensors }) => sum + tensors, 0)).toBe(report.tensors);
    }
    const { memory } = await lab.session.system();
    expect(owners(memory).filter((owner) => !/^(frozen|published|pool)/.test(owner))).toEqual([]);
  });

  it("work in progress is distinguished", async () => {
    const asked: Promise<MemoryReport>[] = [];
    lab.watch = (event, session) => {
      if (event.type === "phase" && event.phase === "update") asked.push(session.system().then(({ memory }) => memory));
    };
    const run = await lab.start({ steps: 1 });
    await run.done;
    lab.watch = () => undefined;
    const [report] = await Promise.all(asked);
    // The gradients, one for each trained tensor that a loss reaches.
    expect(of(report as MemoryReport, "work")?.tensors).toBeGreaterThan(0);
  });
});

describe("an error that the device reports in a step", () => {
  it("fails the run loudly, and nothing of the step is stored", async () => {
    const tensors = (await lab.session.system()).memory.tensors;
    let id = "";
    lab.watch = (event, session) => {
      if (event.type !== "phase" || event.step !== 2 || event.phase !== "loss" || event.loop !== 2) return;
      // An unused buffer: the error is reported separately, never thrown by the call.
      session.device.device.createBuffer({ size: 16, usage: 0 });
    };
    const run = await lab.start({ steps: 3, saveSteps: 1 });
    id = run.manifest.id;
    await expect(run.done).rejects.toThrow(/The GPU reported an error, so this work did not happen: .*buffer/is);
    lab.watch = () => undefined;
    expect((await lab.metrics(id)).map(({ step }) => step)).toEqual([1]);
    const stored = (await lab.store.list(id)).map(({ path }) => path);
    expect(stored.filter((path) => path.includes("step-000002"))).toEqual([]);
    expect(stored.filter((path) => path.includes("step-000001"))).not.toEqual([]);
    expect(JSON.parse(await lab.store.readText(`${id}/run.json`))).toMatchObject({ state: "failed" });
    expect((await lab.session.system()).memory.tensors).toBe(tensors);
  });
});
