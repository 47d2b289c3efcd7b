/** Archives that unpack to more than they should: refused, bounded, and cancelled between pieces. */
import { deflateRawSync } from "node:zlib";
import { encode } from "fast-png";
import { expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { crc32 } from "../../../src/engine/bytes/hash.ts";
import { nextTurn } from "../../../src/engine/bytes/pace.ts";
import { type ByteSource, memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { unpacker } from "../../../src/plugins/archives/inflated.ts";
import { mountArchives, readZip } from "../../../src/plugins/archives/mount.ts";
import { MAX_MEMBERS, readTar } from "../../../src/plugins/archives/tar.ts";
import { linesForm, tar, zipped } from "../../support/data-forms.ts";
import { type ZipMember, zipOf } from "../../support/zip-file.ts";
import { jpg, row } from "./make.ts";

const MIB = 2 ** 20;

function deflated(name: string, content: Uint8Array): ZipMember {
  return { name, size: content.length, crc: crc32(content), packed: deflateRawSync(content, { level: 9 }) };
}

/** Lines of JSON that pack to about a thousandth. */
const lines = (bytes: number): Uint8Array => new Uint8Array(Buffer.alloc(bytes, '{"a":"a plain line of a file"}\n'));

/** Packing takes a second. */
const LARGE = deflated("a.jsonl", lines(64 * MIB));

/** Aborts after this many turns of the event loop; `turns` counts those that followed until the work ended. */
async function abortedAfter(turns: number, work: (signal: AbortSignal) => Promise<unknown>) {
  const stop = new AbortController();
  let [count, ended] = [0, false];
  const ticking = (async () => {
    while (!ended) {
      await nextTurn();
      if (++count === turns) stop.abort();
    }
  })();
  const error = await work(stop.signal).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  ended = true;
  await ticking;
  return { error, turns: count - turns };
}

test("members that share bytes are left out, whatever their order in the directory; the others are kept", async () => {
  const bomb = deflated("0.jsonl", lines(8 * MIB));
  const good = deflated("good.jsonl", lines(1000));
  const zip = zipOf([good, bomb, { ...bomb, name: "1.jsonl", at: 1 }, { ...bomb, name: "2.jsonl", at: 1 }]);
  const { members, problems } = await readZip(memorySource("a.zip", zip));
  expect(members.map(({ name }) => name)).toEqual(["good.jsonl"]);
  expect(problems).toEqual(["a.zip has 3 members that share bytes with others; they are left out"]);
});

test("an archive that unpacks to over a gigabyte and a hundred times its size is refused before it is unpacked", async () => {
  const bomb = deflated("a.jsonl", lines(8 * MIB));
  // The directory lies; nothing is unpacked to find out.
  const many = Array.from({ length: 5 }, (_, at) => ({ ...bomb, name: `${at}.jsonl`, size: 2 ** 28 }));
  const zip = zipOf(many);
  const { folder, problems } = await mountArchives(memoryFolder({ "a.zip": zip }));
  expect(folder.paths).toEqual(["a.zip"]);
  expect(problems.map(({ reason }) => reason)).toEqual([
    expect.stringMatching(/^a\.zip unpacks to 1342177280 bytes, \d+ times its size, and is not opened; unpack it and/),
  ]);
  const four = await readZip(memorySource("a.zip", zipOf(many.slice(0, 4))));
  expect(four.members).toHaveLength(4);
});

test("a head of a member is read without unpacking the rest, and a whole member is checked", async () => {
  let unpacked = 0;
  const open = async (one: ZipMember) => {
    const unpack = unpacker(undefined, (bytes) => {
      unpacked += bytes;
    });
    const { members } = await readZip(memorySource("a.zip", zipOf([one])), undefined, unpack);
    return members[0]?.source;
  };
  const source = await open(LARGE);
  expect(new TextDecoder().decode(await source?.read(0, 8))).toBe('{"a":"a ');
  expect(unpacked).toBeLessThan(20 * MIB);
  const before = unpacked;
  await source?.read(4, 1000);
  expect(unpacked).toBe(before);
  await source?.read(64 * MIB - 4, 64 * MIB);
  expect(unpacked).toBe(64 * MIB);
  const damaged = await open({ ...LARGE, crc: 1 });
  await expect(damaged?.read(0, 8)).resolves.toHaveLength(8);
  await expect(damaged?.read(0, 64 * MIB)).rejects.toThrow(
    "a.jsonl in a.zip cannot be read: its checksum differs, so the archive is damaged",
  );
});

test.each([
  ["shorter", 63 * MIB, "it unpacks to more than the 66060288 bytes it states"],
  ["longer", 65 * MIB, "it unpacks to 67108864 of 68157440 bytes"],
] as const)("a large member that is %s than it states is refused at its end", async (_, size, cause) => {
  const member = { ...LARGE, size };
  const { members } = await readZip(memorySource("a.zip", zipOf([member])));
  const source = members[0]?.source;
  await expect(source?.read(size - 1, size)).rejects.toThrow(`a.jsonl in a.zip cannot be read: ${cause}`);
});

test("unpacking from memory ends within two turns of a cancellation, and within one window of bytes", async () => {
  const member = deflated("a.jsonl", lines(128 * MIB));
  let after = 0;
  let stopped: AbortSignal | undefined;
  const { error, turns } = await abortedAfter(3, async (signal) => {
    stopped = signal;
    const unpack = unpacker(signal, (bytes) => {
      after += stopped?.aborted ? bytes : 0;
    });
    const { members } = await readZip(memorySource("a.zip", zipOf([member])), signal, unpack);
    await members[0]?.source.read(0, 128 * MIB);
  });
  expect(error).toMatchObject({ code: "cancelled" });
  expect(turns).toBeLessThanOrEqual(2);
  expect(after).toBeLessThanOrEqual(20 * MIB);
});

test.each([
  ["a zip of many lines", () => ({ "a.zip": zipOf([deflated("a.jsonl", lines(48 * MIB))]) })],
  ["a plain file of many lines", () => ({ "a.jsonl": lines(48 * MIB) })],
  ["a tar of many members", () => ({ "a.tar": tar(Array.from({ length: 20_000 }, (_, at) => [`${at}.txt`, EMPTY])) })],
  [
    "a zip of many members",
    () => {
      const empty = deflated("", EMPTY);
      return { "a.zip": zipOf(Array.from({ length: 50_000 }, (_, at) => ({ ...empty, name: `${at}.txt` }))) };
    },
  ],
] as const)("opening %s from memory can be cancelled in every phase", async (_, files) => {
  const folder = memoryFolder(files());
  for (const at of [1, 2, 6]) {
    const { error, turns } = await abortedAfter(at, (signal) => openRegionSet(folder, { signal }));
    expect(error).toMatchObject({ code: "cancelled" });
    expect(turns).toBeLessThanOrEqual(2);
  }
});

test.each([
  ["label maps", "m", ["a", "b"]],
  ["white pictures, of which others are examined first,", "w", "a"],
] as const)("reading large %s from memory ends soon after it is cancelled", async (_, name, captions) => {
  const encoded = (white: number): Uint8Array => {
    const data = Uint8Array.from(MAP_ROWS.flat(), (label) => (label === 0 ? 0 : white || label));
    return encode({ width: SIDE, height: SIDE, channels: 1, data });
  };
  const map = encoded(name === "w" ? 255 : 0);
  const paths = Array.from({ length: 24 }, (__, at) => `${name}${at}.png`);
  const rows = paths.map((mask) => JSON.stringify({ image: "p.png", mask, captions }));
  const files = memoryFolder({
    "rows.jsonl": new Uint8Array(Buffer.from(rows.join("\n"))),
    "p.png": map,
    ...Object.fromEntries(paths.map((path) => [path, map])),
  });
  for (const before of [1, 6]) {
    const stop = new AbortController();
    let [reads, after] = [0, 0];
    // The message that cancels arrives in the next turn of the event loop.
    const read = async (source: ByteSource, from: number, to: number) => {
      if (++reads === before) void nextTurn().then(() => stop.abort());
      if (stop.signal.aborted) after++;
      return source.read(from, to);
    };
    const watched = (path: string): ByteSource | undefined => {
      const source = files.get(path);
      const isMask = source !== undefined && paths.includes(path);
      return isMask ? { ...source, read: (from, to) => read(source, from, to) } : source;
    };
    const opening = openRegionSet({ ...files, get: watched }, { signal: stop.signal });
    await expect(opening).rejects.toMatchObject({ code: "cancelled" });
    expect(
      [reads - before - after, after].every((count) => count <= 4),
      `${reads} reads, ${after} after it`,
    ).toBe(true);
  }
});

const SIDE = 1500;
const MAP_ROWS = Array.from({ length: SIDE }, (_, y) =>
  Array.from({ length: SIDE }, (__, x) => (x % 500 < 100 ? 0 : y < SIDE / 2 ? 1 : 2)),
);
const EMPTY = new Uint8Array();

test("pictures of an opened archive are read after a later abort of the signal that opened it", async () => {
  const shard = writeRegionShard([row({ image: { bytes: jpg(32, 24), path: null } })]);
  const plain = await openRegionSet(memoryFolder({ "a.arrow": shard }));
  const stop = new AbortController();
  const files = zipped(linesForm([await plain.sample(0)]));
  const set = await openRegionSet(memoryFolder(files), { signal: stop.signal });
  stop.abort();
  expect((await set.sample(0)).image.mime).toBe("image/jpeg");
});

test("an archive with more members than are opened is refused, and so are the last of several", async () => {
  const count = MAX_MEMBERS + 1;
  const zip = zipOf([deflated("a.txt", EMPTY)], count);
  const { problems } = await mountArchives(memoryFolder({ "a.zip": zip }));
  expect(problems[0]?.reason).toMatch(
    /^a\.zip states 262145 members in a directory of \d+ bytes, more than 262144 in /,
  );
});

test.each(["zip", "tar"] as const)(
  "of members of one name in a %s the last is read, and the others are counted",
  async (kind) => {
    const [one, two] = [1, 2].map((lines) => new TextEncoder().encode('{"a":1}\n'.repeat(lines))) as [
      Uint8Array,
      Uint8Array,
    ];
    const files: [string, Uint8Array][] = [
      ["a.jsonl", one],
      ["b.jsonl", one],
      ["a.jsonl", one],
      ["a.jsonl", two],
    ];
    const archive = kind === "tar" ? tar(files) : zipOf(files.map(([name, bytes]) => deflated(name, bytes)));
    const { folder, problems } = await mountArchives(memoryFolder({ [`x.${kind}`]: archive }));
    expect(folder.paths).toEqual([`x.${kind}`, `x.${kind}/a.jsonl`, `x.${kind}/b.jsonl`]);
    expect(folder.get(`x.${kind}/a.jsonl`)?.size).toBe(two.length);
    expect(problems.map(({ reason }) => reason)).toEqual([
      `x.${kind}: 2 members are left out, because later members have their names`,
    ]);
  },
);

test("names longer than any file's are left out", async () => {
  const long = `${"a/".repeat(80)}b.txt`;
  const zip = zipOf([deflated(long, EMPTY), deflated("b".repeat(1025), EMPTY), deflated("c.txt", EMPTY)]);
  const { members, problems } = await readZip(memorySource("a.zip", zip));
  expect(members.map(({ name }) => name)).toEqual(["c.txt"]);
  expect(problems).toEqual(["a.zip has 2 names longer than 1024 characters or 64 folders; they are left out"]);
});

test("files after a sparse file of GNU tar, whose map continues behind its header, are found", async () => {
  const plain = tar([
    ["sparse", new Uint8Array(512)],
    ["map", new Uint8Array(0)],
    ["after.txt", new TextEncoder().encode("kept")],
  ]);
  const header = plain.subarray(0, 512);
  header[156] = "S".charCodeAt(0);
  header[482] = 1;
  // The second member's header becomes the continuation of the map, which the size does not count.
  const extension = new Uint8Array(512);
  const archive = new Uint8Array([
    ...signed(header),
    ...extension,
    ...plain.subarray(512, 1024),
    ...plain.subarray(1536),
  ]);
  const { members, problems } = await readTar(memorySource("a.tar", archive));
  expect(members.map(({ name }) => name)).toEqual(["after.txt"]);
  expect(problems).toEqual(["a.tar has 1 link, device or sparse file; it is left out"]);
});

test("a tar without a header at its start says what is there instead of a checksum", async () => {
  const archive = tar([["a.txt", EMPTY]]);
  archive.set(new TextEncoder().encode("what?!  "), 148);
  const { problems } = await readTar(memorySource("a.tar", archive));
  expect(problems).toEqual([
    "a.tar is a damaged tar archive: there is no header at byte 0: its checksum is not a number; no file before it",
  ]);
});

/** A tar header with its checksum. */
function signed(header: Uint8Array): Uint8Array {
  const copy = new Uint8Array(header).fill(32, 148, 156);
  const sum = copy.reduce((total, byte) => total + byte, 0);
  copy.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  return copy;
}
