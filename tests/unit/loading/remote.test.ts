/** Checkpoints on servers that behave and servers that do not: sizes first, every byte right, one sentence for each fault. */
import { copyFile, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import type { ByteSource } from "../../../src/engine/bytes/source.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { loadTensors } from "../../../src/engine/model/weights/weight-pieces.ts";
import { passingHash, weightsHash } from "../../../src/engine/model/weights/weights-hash.ts";
import { remoteAddress } from "../../../src/plugins/hub/address.ts";
import { openRemote } from "../../../src/plugins/hub/folder.ts";
import { askRemote, type RemoteListing } from "../../../src/plugins/hub/listing.ts";
import type { RemoteDeps } from "../../../src/plugins/hub/request.ts";
import { type CheckpointServer, checkpointServer } from "../../support/checkpoint-server.ts";
import { WAIT } from "../../support/hang.ts";

const GOLDEN = "tests/golden/sa2va-tiny-variant";
const FIRST = "model-00001-of-00003.safetensors";
/** No waiting between tries, and reads that ask for a few kilobytes at a time. */
const DEPS = { pauses: [0, 0, 0], ahead: 6000, stall: WAIT };

let server: CheckpointServer;
beforeAll(async () => {
  server = await checkpointServer(GOLDEN);
});
beforeEach(() => server.reset());
afterAll(() => server.close());

async function ask(deps: RemoteDeps = DEPS): Promise<RemoteListing> {
  return (await askRemote(remoteAddress(server.url, ""), deps)).listing;
}

/** The first weight file as the engine reads it. */
async function firstFile(deps: RemoteDeps = DEPS): Promise<ByteSource> {
  const { folder } = await openRemote(await ask(deps), deps);
  return folder.get(FIRST) as ByteSource;
}

const bytesOf = async (source: ByteSource, start = 0, end = source.size): Promise<Buffer> =>
  Buffer.from(await source.read(start, end));

describe("an address", () => {
  it("is a folder, a repository of the hub, or the page of one", () => {
    expect(remoteAddress("https://example.org/models/one", "")).toEqual({
      baseUrl: "https://example.org/models/one/",
      name: "one",
      listUrl: null,
    });
    const repository = {
      baseUrl: "https://hub.example.org/owner/model-1B/resolve/main/",
      name: "model-1B",
      listUrl: "https://hub.example.org/api/models/owner/model-1B/tree/main",
    };
    expect(remoteAddress(" owner/model-1B ", "https://hub.example.org/")).toEqual(repository);
    expect(remoteAddress("https://hub.example.org/owner/model-1B", "https://hub.example.org")).toEqual(repository);
    expect(remoteAddress("https://hub.example.org/owner/model-1B/tree/v2", "https://hub.example.org")).toEqual(
      remoteAddress("owner/model-1B@v2", "https://hub.example.org"),
    );
    expect(remoteAddress("owner/model-1B@refs/pr/3", "https://hub.example.org").baseUrl).toBe(
      "https://hub.example.org/owner/model-1B/resolve/refs%2Fpr%2F3/",
    );
    expect(remoteAddress("http://10.0.0.2:8000/m", "", "any").baseUrl).toBe("http://10.0.0.2:8000/m/");
  });

  it.each<[string, string, RegExp]>([
    ["owner/model-1B", "", /give the address of its hub/],
    ["a folder", "", /neither a web address nor a repository/],
    ["file:///etc/models", "", /begins with file:/],
    ["http://example.org/models", "", /without https a page can reach only this machine/],
    ["https://me:secret@example.org/m", "", /name or password/],
    ["https://example.org/m?sig=abc", "", /question mark/],
  ])("%s is refused", (text, hub, sentence) => {
    expect(() => remoteAddress(text, hub)).toThrow(sentence);
  });
});

describe("asking", () => {
  it("tells all sizes and fetches nothing but config.json and the index", async () => {
    const listing = await ask();
    const sizes = await Promise.all(listing.files.map(async ({ path }) => (await stat(join(GOLDEN, path))).size));
    expect(listing.files.map(({ size }) => size)).toEqual(sizes);
    expect(listing.bytes).toBe(sizes.reduce((sum, size) => sum + size, 0));
    expect(listing.files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["config.json", "tokenizer.json", "added_tokens.json", FIRST]),
    );
    expect(listing.files.map(({ path }) => path)).not.toContain("vocab.json");
    expect(listing.ranges).toBe(true);
    const bodies = server.seen.filter(({ method, range }) => method === "GET" && range === null);
    expect(bodies.map(({ path }) => path)).toEqual(["config.json", "model.safetensors.index.json"]);
    expect(server.weightBytes()).toBe(1);
    expect(structuredClone(listing)).toEqual(listing);
  });

  it("takes a hub's list of files where there is one, else asks file by file", async () => {
    const address = remoteAddress("owner/tiny@v1", server.hub);
    const { listing } = await askRemote(address, DEPS);
    expect(server.seen.filter(({ method }) => method === "HEAD")).toEqual([]);
    expect(listing.files.find(({ path }) => path === FIRST)).toEqual({
      path: FIRST,
      size: (await stat(join(GOLDEN, FIRST))).size,
      version: `sha256 of ${FIRST}`,
    });
    expect(listing.name).toBe("tiny@v1");
    server.reset();
    server.listing = false;
    const other = (await askRemote(address, DEPS)).listing;
    expect(other.files.map(({ path, size }) => [path, size])).toEqual(
      listing.files.map(({ path, size }) => [path, size]),
    );
    const { folder } = await openRemote(listing, DEPS);
    expect((await openCheckpoint(folder)).tensorNames.length).toBeGreaterThan(100);
  });

  it("takes the config files of newer folders, which the fingerprint of a copy on disk holds too", async () => {
    const folder = await mkdtemp(join(tmpdir(), "lab-configs-"));
    const names = (await readdir(GOLDEN)).filter((name) => !/^(adapter|golden)_/.test(name));
    for (const name of names) await copyFile(join(GOLDEN, name), join(folder, name));
    for (const name of ["processor", "video_preprocessor"]) await writeFile(join(folder, `${name}_config.json`), "{}");
    const other = await checkpointServer(folder);
    try {
      const { listing } = await askRemote(remoteAddress(other.url, ""), DEPS);
      const { hash } = await passingHash((await openRemote(listing, DEPS)).folder);
      expect(await hash()).toBe(await weightsHash(await nodeFolder(folder)));
    } finally {
      await other.close();
      await rm(folder, { recursive: true });
    }
  });

  it("takes one file of weights before an index that saving again left behind, as from disk", async () => {
    const folder = await mkdtemp(join(tmpdir(), "lab-single-"));
    await cp(GOLDEN, folder, { recursive: true });
    await copyFile(join(folder, FIRST), join(folder, "model.safetensors"));
    const other = await checkpointServer(folder);
    try {
      for (const [text, hub] of [
        [other.url, ""],
        ["owner/tiny", other.hub],
      ] as const) {
        const { listing } = await askRemote(remoteAddress(text, hub), DEPS);
        expect(listing.files.map(({ path }) => path).filter((path) => path.startsWith("model"))).toEqual([
          "model.safetensors",
        ]);
      }
    } finally {
      await other.close();
      await rm(folder, { recursive: true });
    }
  });

  it("manages where HEAD is not known or tells no length", async () => {
    const expected = (await ask()).files.map(({ path, size }) => [path, size]);
    server.manner = { ...server.manner, head: false };
    expect((await ask()).files.map(({ path, size }) => [path, size])).toEqual(expected);
    server.reset();
    server.manner = { ...server.manner, lengths: false };
    expect((await ask()).files.map(({ path, size }) => [path, size])).toEqual(expected);
    server.reset();
    server.manner = { ...server.manner, lengths: false, ranges: false };
    await expect(ask()).rejects.toThrow(/does not say how large .*model-00001.* is; no weights were fetched/);
    // Texts that a server compresses as it sends them.
    server.reset();
    server.manner = { ...server.manner, ranges: false };
    server.fault = (path) => (path.endsWith(".safetensors") ? null : { endAfter: Number.POSITIVE_INFINITY });
    expect((await ask()).files.map(({ path, size }) => [path, size])).toEqual(expected);
  });

  it.each<[string, (path: string) => boolean, number, RegExp]>([
    ["no folder there", () => true, 404, /is not a checkpoint folder: config\.json is missing/],
    ["a private place", () => true, 401, /refuses it \(401\): .*private or gated/],
    ["a forbidden place", () => true, 403, /no config\.json|refuses it \(403\)/],
    ["a shard that is missing", (path) => path.startsWith("model-00002"), 404, /lists model-00002-of-00003.*not on/],
    ["a status of its own", (path) => path === "config.json", 418, /the server answered 418/],
  ])("says what is wrong with %s", async (_, hit, status, sentence) => {
    server.fault = (path) => (hit(path) ? { status } : null);
    const failed = await ask().catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: "bad-input" });
    expect((failed as Error).message).toMatch(sentence);
  });

  it("says what is wrong with a repository that is gated, and with pages in the place of files", async () => {
    server.fault = (path) => (path === "tree" ? { status: 401 } : null);
    await expect(askRemote(remoteAddress("owner/tiny", server.hub), DEPS)).rejects.toThrow(/private or gated/);
    server.fault = (path) => (path === "config.json" ? { body: "<!doctype html><p>Please sign in" } : null);
    await expect(ask()).rejects.toThrow(/config\.json is not JSON: the address may lead to a page/);
    server.fault = (path) => (path === "config.json" ? { body: '{"architectures": ["Other"]}' } : null);
    await expect(ask()).rejects.toMatchObject({ subject: expect.stringMatching(/config\.json|./) });
    server.fault = (path) => (path.endsWith("index.json") ? { body: '{"weight_map": {"a": "../../secret"}}' } : null);
    await expect(ask()).rejects.toThrow(/lists "..\/..\/secret", which is not a weight file/);
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`t${at}`, `w${at}.safetensors`]));
    const body = JSON.stringify({ weight_map: many });
    server.fault = (path) => (path.endsWith("index.json") ? { body } : null);
    await expect(ask()).rejects.toThrow(/lists 2000 files of weights, but at most 1024/);
  });

  it("refuses sizes that no model has before it computes with them", async () => {
    const config = JSON.parse(await readFile("tests/golden/sa2va-tiny-qwen2/config.json", "utf8")) as {
      llm_config: object;
    };
    const huge = { ...config, llm_config: { ...config.llm_config, num_hidden_layers: 1e9 } };
    server.fault = (path) => (path === "config.json" ? { body: JSON.stringify(huge) } : null);
    await expect(ask()).rejects.toThrow(/llm_config\.num_hidden_layers is 1000000000, it must be a whole number/);
  });

  it("says that no server answers, after trying again", async () => {
    const repeats: string[] = [];
    server.fault = () => ({ drop: true });
    const failed = ask({ ...DEPS, onRepeat: (sentence) => repeats.push(sentence) });
    await expect(failed).rejects.toMatchObject({
      code: "network",
      message: expect.stringMatching(/in 4 tries: no answer/),
    });
    expect(repeats).toHaveLength(3);
  });
});

describe("reading", () => {
  it("gives every byte, however it is cut into reads", async () => {
    const expected = await readFile(join(GOLDEN, FIRST));
    const source = await firstFile();
    for (const [start, end] of [
      [0, 8],
      [8, 5000],
      [5000, 9000],
      [8999, 30_000],
      [100, 101],
      [20_000, 20_000],
      [expected.length - 10, expected.length],
      [0, expected.length],
    ] as const) {
      expect((await bytesOf(source, start, end)).equals(expected.subarray(start, end))).toBe(true);
    }
    await expect(source.read(0, expected.length + 1)).rejects.toThrow(/is outside it/);
  });

  it("shares requests between small reads in a row", async () => {
    const source = await firstFile();
    const before = server.seen.length;
    for (let at = 0; at + 100 <= 6000; at += 100) await source.read(at, at + 100);
    expect(server.seen.length - before).toBe(1);
  });

  it("continues where the connection was cut, in the middle of a tensor", async () => {
    const expected = await readFile(join(GOLDEN, FIRST));
    const source = await firstFile();
    server.fault = (path, _, { range }) => (path === FIRST && (range?.[0] ?? 0) < 60_000 ? { cutAfter: 20_000 } : null);
    const before = server.seen.length;
    expect((await bytesOf(source)).equals(expected)).toBe(true);
    const starts = server.seen.slice(before).map(({ range }) => range?.[0] ?? -1);
    expect(starts.length).toBeGreaterThanOrEqual(4);
    // Each goes on behind the last byte that arrived.
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(starts[1]).toBeGreaterThan(0);
  });

  it.each<[string, Parameters<CheckpointServer["fault"]>[2]["method"], object, RegExp]>([
    ["is cut without a byte", "GET", { cutAfter: 0 }, /model-00001.* could not be fetched in 4 tries/],
    ["ends early in good form", "GET", { endAfter: 0 }, /the answer ended \d+ bytes early/],
    ["answers 503", "GET", { status: 503 }, /the server answered 503/],
    ["asks for an hour of patience", "GET", { status: 429, headers: { "Retry-After": "3600" } }, /answered 429/],
  ])("gives up a server that always %s, and names the file", async (_, method, fault, sentence) => {
    const source = await firstFile();
    server.fault = (path, __, seen) => (path === FIRST && seen.method === method ? fault : null);
    const failed = await source.read(0, 50_000).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: "network", subject: FIRST });
    expect((failed as Error).message).toMatch(sentence);
  });

  it("gives up a server that falls silent, and can be stopped while it waits", async () => {
    const deps = { ...DEPS };
    const source = await firstFile(deps);
    deps.stall = 40;
    server.fault = (path) => (path === FIRST ? { stallAfter: 0 } : null);
    await expect(source.read(0, 50_000)).rejects.toThrow(/no data arrived for 0\.04 s/);
    const stop = new AbortController();
    const other = await (async () => {
      server.fault = () => null;
      return firstFile({ ...DEPS, signal: stop.signal });
    })();
    server.fault = (path) => (path === FIRST ? { stallAfter: 10_000 } : null);
    const reading = other.read(0, 50_000);
    setTimeout(() => stop.abort(), 30);
    await expect(reading).rejects.toMatchObject({ code: "cancelled" });
  });

  it("overcomes a few failures of every kind", async () => {
    const expected = await readFile(join(GOLDEN, FIRST));
    const source = await firstFile();
    const faults = [
      { status: 500 },
      { drop: true },
      { endAfter: 1000 },
      { status: 429, headers: { "Retry-After": "0" } },
    ];
    let next = 0;
    server.fault = () => (faults[next++] as object) ?? null;
    expect((await bytesOf(source)).equals(expected)).toBe(true);
    expect(next).toBeGreaterThan(faults.length);
  });

  it.each<[string, object, RegExp]>([
    ["sends more than was asked for", { tooMany: 5 }, /sent more bytes than requested/],
    [
      "sends another place",
      { headers: { "Content-Range": "bytes 5-10/91952" } },
      /sent byte 5 where 40000 was requested/,
    ],
    ["has a shorter file now", { status: 416 }, /changed on the server .*no longer has \d+ bytes/],
    ["no longer has the file", { status: 404 }, /it does not exist \(404\)/],
  ])("refuses a server that %s", async (_, fault, sentence) => {
    const source = await firstFile();
    await source.read(0, 100);
    server.fault = (path) => (path === FIRST ? fault : null);
    await expect(source.read(40_000, 50_000)).rejects.toMatchObject({
      code: "bad-input",
      message: expect.stringMatching(sentence),
    });
  });

  it("notices that the file became another one meanwhile", async () => {
    const source = await firstFile();
    await source.read(0, 100);
    server.fault = (path) => (path === FIRST ? { headers: { ETag: '"another"' } } : null);
    await expect(source.read(40_000, 50_000)).rejects.toThrow(/changed on the server while it was read/);
  });

  it.each([true, false])(
    "refuses a file that became another one since its size was asked for (ranges %s)",
    async (ranges) => {
      server.manner = { ...server.manner, ranges };
      const source = await firstFile();
      server.fault = (path) => (path === FIRST ? { headers: { ETag: '"second edition"' } } : null);
      await expect(source.read(40_000, 50_000)).rejects.toMatchObject({
        code: "bad-input",
        message: expect.stringMatching(/model-00001.* changed on the server while it was read \(another entity tag\)/),
      });
    },
  );

  it("follows a redirect and gives a circle up", async () => {
    const expected = await readFile(join(GOLDEN, FIRST));
    server.fault = (path) =>
      path === `moved/${FIRST}` ? { status: 302, headers: { Location: `${server.url}${FIRST}` } } : null;
    const listing = await ask();
    const moved = {
      ...listing,
      files: listing.files.filter(({ path }) => path === FIRST),
      baseUrl: `${server.url}moved/`,
    };
    const { folder } = await openRemote(moved, DEPS);
    expect((await bytesOf(folder.get(FIRST) as ByteSource)).equals(expected)).toBe(true);
    server.fault = (path) => ({ status: 302, headers: { Location: `${server.url}${path}` } });
    await expect(openRemote(listing, DEPS)).rejects.toMatchObject({ code: "network" });
  });
});

describe("a server that sends whole files only", () => {
  it("is noticed, and read from beginning to end with each shard fetched twice at most", async () => {
    const local = (await Promise.all([1, 2, 3].map((n) => stat(join(GOLDEN, `model-0000${n}-of-00003.safetensors`)))))
      .map(({ size }) => size)
      .reduce((sum, size) => sum + size, 0);
    server.manner = { ...server.manner, ranges: false };
    const listing = await ask();
    expect(listing.ranges).toBe(false);
    server.seen.length = 0;
    const { folder, known, close } = await openRemote(listing, DEPS);
    expect(known).toBe(true);
    const checkpoint = await openCheckpoint(folder);
    await weightsHash(folder);
    const tensors = await loadTensors(checkpoint);
    close();
    const { nodeFolder } = await import("../../../scripts/lib/node/node-files.ts");
    const expected = await loadTensors(await openCheckpoint(await nodeFolder(GOLDEN)));
    expect([...tensors.keys()].sort()).toEqual([...expected.keys()].sort());
    for (const [name, tensor] of tensors) {
      expect(await tensor.data(), name).toEqual(await (expected.get(name) as typeof tensor).data());
    }
    tf.dispose([...tensors.values(), ...expected.values()]);
    const gets = server.seen.filter(({ path }) => path.endsWith(".safetensors"));
    expect(gets).toHaveLength(6);
    expect(server.weightBytes()).toBeLessThanOrEqual(2 * local);
  });

  it("is started again when it is cut, and given up when it always breaks at one place", async () => {
    server.manner = { ...server.manner, ranges: false };
    const expected = await readFile(join(GOLDEN, FIRST));
    const source = await firstFile();
    let cuts = 2;
    server.fault = (path) => (path === FIRST && cuts-- > 0 ? { cutAfter: 30_000 } : null);
    expect((await bytesOf(source, 40_000, 60_000)).equals(expected.subarray(40_000, 60_000))).toBe(true);
    expect((await bytesOf(source, 10, 20)).equals(expected.subarray(10, 20))).toBe(true);
    const other = await firstFile();
    server.fault = (path) => (path === FIRST ? { cutAfter: 30_000 } : null);
    await expect(other.read(40_000, 60_000)).rejects.toMatchObject({ code: "network", subject: FIRST });
  });

  it("is not read on where it was cut when the file became another one meanwhile", async () => {
    server.manner = { ...server.manner, ranges: false, tag: "date" };
    const source = await firstFile();
    const fault = (count: number) => ({
      headers: { ETag: `"${count}"` },
      ...(count === 0 ? { cutAfter: 30_000 } : {}),
    });
    let count = 0;
    server.fault = (path) => (path === FIRST ? fault(count++) : null);
    await expect(source.read(0, 60_000)).rejects.toThrow(/changed on the server while it was read/);
  });
});

describe("what tells one version from the next", () => {
  const hash = async (): Promise<string> => weightsHash((await openRemote(await ask(), DEPS)).folder);

  it("is the entity tag or date where there is one, without reading weights", async () => {
    for (const tag of ["etag", "date"] as const) {
      server.reset();
      server.manner = { ...server.manner, tag };
      const listing = await ask();
      const { folder, known } = await openRemote(listing, DEPS);
      expect(known).toBe(true);
      server.seen.length = 0;
      expect(await weightsHash(folder)).toMatch(/^[0-9a-f]{64}$/);
      expect(server.seen).toEqual([]);
    }
    server.reset();
    const before = await hash();
    server.fault = (path) => (path === FIRST ? { headers: { ETag: '"second edition"' } } : null);
    expect(await hash()).not.toBe(before);
  });

  it("is pieces of the file where the server says nothing, and nothing at all where it sends no pieces either", async () => {
    server.manner = { ...server.manner, tag: "none" };
    const before = await hash();
    expect(await hash()).toBe(before);
    expect((await openRemote(await ask(), DEPS)).known).toBe(true);
    const changed = await readFile(join(GOLDEN, FIRST));
    changed[changed.length - 1] = (changed[changed.length - 1] as number) ^ 1;
    server.fault = (path) => (path === FIRST ? { body: changed } : null);
    expect(await hash()).not.toBe(before);
    server.manner = { ...server.manner, ranges: false };
    expect((await openRemote(await ask(), DEPS)).known).toBe(false);
  });
});
