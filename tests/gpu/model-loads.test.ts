/** Loadings that meet: of two at once, and of one with a run that begins meanwhile. */
import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node-files.ts";
import { folderOf } from "../../src/engine/bytes/memory.ts";
import type { ByteFolder, ByteSource } from "../../src/engine/bytes/source.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory.ts";
import type { FromTrainer } from "../../src/protocol/trainer.ts";
import { loadModel, stopLoading } from "../../workers/models.ts";
import { openTestLab, POCKET, type TestLab } from "../support/session.ts";

let lab: TestLab;
let folder: ByteFolder;
let baseline: number;
beforeAll(async () => {
  lab = await openTestLab();
  folder = await nodeFolder(POCKET);
  baseline = memorySnapshot().tensors;
});

/** The same folder, whose tokenizer is read only once `until` settles. */
function slow(until: Promise<void>): ByteFolder {
  const sources = folder.paths.map((path): [string, ByteSource] => {
    const source = folder.get(path) as ByteSource;
    if (path !== "tokenizer.json") return [path, source];
    return [
      path,
      { name: source.name, size: source.size, read: (from, to) => until.then(() => source.read(from, to)) },
    ];
  });
  return folderOf(new Map(sources));
}

/** A promise and the way to settle it. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("two models asked for at once", () => {
  it("leave the second on the device and nothing of the first", async () => {
    const both = [lab.session.openModel(folder, "first"), lab.session.openModel(folder, "second")];
    await Promise.all(both);
    expect(lab.session.model?.name).toBe("second");
    expect(memorySnapshot().tensors).toBe(baseline);
  });

  it("leave the first when the second is no model", async () => {
    const first = lab.session.openModel(folder, "first");
    await expect(lab.session.openModel(folderOf(new Map()), "second")).rejects.toThrow(/config\.json/);
    await first;
    expect(lab.session.model?.name).toBe("first");
    expect(memorySnapshot().tensors).toBe(baseline);
  });

  it("through the worker stop the first, and a stop meant for the second reaches it", async () => {
    const sent: FromTrainer[] = [];
    const signals: AbortSignal[] = [];
    const load = (name: string, files: ByteFolder) =>
      loadModel(
        lab.session,
        (message) => sent.push(message),
        (options) => {
          signals.push(options.signal as AbortSignal);
          return lab.session.openModel(files, name, options);
        },
      );
    const before = lab.session.model;
    const { opened, open } = gate();
    const first = load("first", slow(opened));
    const second = load("second", folder);
    open();
    await expect(first).rejects.toMatchObject({ code: "cancelled" });
    expect((await second).name).toBe("second");
    expect(lab.session.model?.name).toBe("second");
    expect(lab.session.model).not.toBe(before);
    expect(memorySnapshot().tensors).toBe(baseline);

    // What has ended hears of no stop: its options serve once more when a run has lost its device.
    stopLoading();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);

    const again = gate();
    const present = lab.session.model;
    const third = load("third", slow(again.opened));
    stopLoading();
    again.open();
    await expect(third).rejects.toMatchObject({ code: "cancelled" });
    // Nothing of it was on the device yet: the model that was there is there still.
    expect(lab.session.model).toBe(present);
    expect(sent.some(({ type }) => type === "model-closed")).toBe(false);
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

describe("a run that begins while a folder is looked at", () => {
  it("keeps its model, and the loading is refused", async () => {
    const { opened, open } = gate();
    const { model } = lab.session;
    const refused = expect(lab.session.openModel(slow(opened), "late")).rejects.toThrow(/A run is in progress/);
    const run = await lab.start({ steps: 1 });
    open();
    await refused;
    expect(lab.session.model).toBe(model);
    expect(await run.done).toBe("finished");
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});
