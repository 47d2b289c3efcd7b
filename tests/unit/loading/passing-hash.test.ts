import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type ByteFolder, type ByteSource, folderOf } from "../../../src/engine/bytes/source.ts";
import { openSafetensors } from "../../../src/engine/formats/safetensors.ts";
import { passingHash, weightsHash } from "../../../src/engine/model/weights/weights-hash.ts";

const local = await nodeFolder(join(root, "public", "pocket", "model"));

/** The folder as a server shows it, and the bytes that were asked of its weight files. */
function served(change: (bytes: Uint8Array, start: number) => void = () => {}) {
  const asked = { bytes: 0 };
  const sources = new Map<string, ByteSource>();
  for (const path of local.paths) {
    const source = local.get(path) as ByteSource;
    if (!path.endsWith(".safetensors")) sources.set(path, source);
    else {
      sources.set(path, {
        name: path,
        size: source.size,
        identity: "a tag of the server",
        read: async (start, end) => {
          asked.bytes += end - start;
          const bytes = await source.read(start, end);
          change(bytes, start);
          return bytes;
        },
      });
    }
  }
  return { folder: folderOf(sources), asked };
}

/** Reads all tensors but `left` in pieces of so many bytes, as a conversion does. */
async function load(folder: ByteFolder, step: number, left = 0): Promise<void> {
  for (const path of folder.paths.filter((name) => name.endsWith(".safetensors"))) {
    const file = await openSafetensors(folder.get(path) as ByteSource);
    for (const name of file.names.slice(left)) {
      const { bytes } = file.info(name);
      for (let at = 0; at < bytes; at += step) await file.readRawRange(name, at, Math.min(bytes, at + step));
    }
  }
}

describe("the fingerprint of a checkpoint on a server", () => {
  it("is that of the same files on disk, without a byte beyond what loading reads and the headers", async () => {
    const wanted = await weightsHash(local);
    const { folder, asked } = served();
    expect(await weightsHash(folder)).not.toBe(wanted);
    const passing = await passingHash(folder);
    await load(passing.folder, 70_001);
    const before = asked.bytes;
    expect(await passing.hash()).toBe(wanted);
    const [path = ""] = local.paths.filter((name) => name.endsWith(".safetensors"));
    const weights = local.get(path) as ByteSource;
    const header = 8 + Number(new DataView((await weights.read(0, 8)).buffer).getBigUint64(0, true));
    expect(asked.bytes - before).toBe(header);
  });

  it("reads what loading left out", async () => {
    const passing = await passingHash(served().folder);
    await load(passing.folder, 500, 3);
    expect(await passing.hash()).toBe(await weightsHash(local));
  });

  it("tells another weight", async () => {
    const size = (local.get(local.paths.find((name) => name.endsWith(".safetensors")) as string) as ByteSource).size;
    const { folder } = served((bytes, start) => {
      if (start <= size - 1 && start + bytes.length === size) bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
    });
    const passing = await passingHash(folder);
    await load(passing.folder, 1 << 20);
    expect(await passing.hash()).not.toBe(await weightsHash(local));
  });

  it("leaves a folder on disk and a stream as they are", async () => {
    expect((await passingHash(local)).folder).toBe(local);
    const { folder, asked } = served();
    const streams = new Map(folder.paths.map((path) => [path, folder.get(path) as ByteSource]));
    for (const [path, source] of streams)
      if (source.identity !== undefined) streams.set(path, { ...source, sequential: true });
    const stream = folderOf(streams);
    expect((await passingHash(stream)).folder).toBe(stream);
    expect(asked.bytes).toBe(0);
  });
});
