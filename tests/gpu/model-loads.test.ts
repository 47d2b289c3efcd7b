/** Concurrent loads: two at once, and one with a run that begins meanwhile. */
import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { type ByteFolder, type ByteSource, folderOf } from "../../src/engine/bytes/source.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { loadModel } from "../../workers/models.ts";
import { openTestLab, type TestLab } from "../support/session.ts";
import { smallModel } from "../support/small-model.ts";

let lab: TestLab;
let folder: ByteFolder;
let baseline: number;
beforeAll(async () => {
  lab = await openTestLab();
  folder = await nodeFolder(smallModel());
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

  it("through the worker end when they are stopped, and keep the model that was there", async () => {
    let closed = 0;
    const stop = new AbortController();
    const load = (files: ByteFolder) =>
      loadModel(
        lab.session,
        { onProgress: () => undefined, onClosed: () => void closed++, signal: stop.signal },
        (options) => lab.session.openModel(files, "worker", options),
      );
    expect((await load(folder)).name).toBe("worker");
    const present = lab.session.model;
    const { opened, open } = gate();
    const next = load(slow(opened));
    stop.abort();
    open();
    await expect(next).rejects.toMatchObject({ code: "cancelled" });
    // None of it was on the device yet.
    expect(lab.session.model).toBe(present);
    expect(closed).toBe(0);
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

describe("a run that begins while a folder is looked at", () => {
  it("keeps its model, and the loading is refused", async () => {
    const { opened, open } = gate();
    const { model } = lab.session;
    const refused = expect(lab.session.openModel(slow(opened), "late")).rejects.toThrow(/A run is in progress/);
    const run = await lab.start({ steps: 1, loops: "1" });
    open();
    await refused;
    expect(lab.session.model).toBe(model);
    expect(await run.done).toBe("finished");
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});
