/** An expression about a clip, from pictures on disk to masklets on disk. */

import { spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encode } from "fast-png";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ClipJob, runClip } from "../../scripts/lib/clip-run.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { decodePng } from "../../src/engine/data/image/png-decode.ts";
import { decodeRle, parseRle } from "../../src/engine/data/mask/rle.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openSa2va, type Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import type { FollowSettings } from "../../src/plugins/clips/follow.ts";
import { videoShapes } from "../../src/plugins/clips/sam2/video-shapes.ts";
import { type Clip, type ClipExpression, openClips } from "../../src/plugins/data-sets/clip-set.ts";
import { openArrays } from "../../tools/parity/golden-arrays.ts";
import { useGpu } from "../support/gpu.ts";
import { tool } from "../support/tools.ts";

const VIDEO = fileURLToPath(new URL("../golden/video/", import.meta.url));
const MODEL = fileURLToPath(new URL("../golden/sa2va-tiny-qwen2/", import.meta.url));

let scratch: string;
let model: Sa2vaModel;
let clip: Clip;
/** Numbers of the frames whose pictures were read. */
let reads: number[] = [];
let onRead: (frame: number) => void = () => undefined;

beforeAll(async () => {
  await useGpu();
  scratch = await mkdtemp(join(tmpdir(), "masklets-"));
  const golden = await nodeFolder(VIDEO);
  const input = await openArrays(golden, "golden_input.safetensors");
  const bytes = Uint8Array.from(await input.read("frames_u8"));
  const [count, height, width] = input.shape("frames_u8") as [number, number, number];
  const pictures = join(scratch, "data", "valid_u", "JPEGImages", "drawn");
  await mkdir(pictures, { recursive: true });
  const names = Array.from({ length: count }, (_, at) => String(at).padStart(5, "0"));
  for (const [at, name] of names.entries()) {
    const data = bytes.subarray(at * height * width * 3, (at + 1) * height * width * 3);
    await writeFile(join(pictures, `${name}.png`), encode({ width, height, data, channels: 3, depth: 8 }));
  }
  const { truth } = JSON.parse(await readFile(join(VIDEO, "video.json"), "utf8")) as { truth: unknown[][] };
  const expressions = { "0": { exp: "the red disc", obj_id: [0], anno_id: [0] } };
  const meta = { videos: { drawn: { frames: names, expressions } } };
  await writeFile(join(scratch, "data", "valid_u", "meta_expressions.json"), JSON.stringify(meta));
  const masks = { "0": truth.map(([disc]) => disc) };
  await writeFile(join(scratch, "data", "valid_u", "mask_dict.json"), JSON.stringify(masks));
  const { clips } = await openClips(await nodeFolder(join(scratch, "data")));
  const [found] = clips as [Clip];
  const watched = found.frames.map((source, frame) => ({
    ...source,
    read: (start: number, end: number) => {
      reads.push(frame);
      onRead(frame);
      return source.read(start, end);
    },
  }));
  clip = { ...found, frames: watched };
  model = await openSa2va(await nodeFolder(MODEL), "tiny", { video: videoShapes });
});
afterAll(async () => {
  model.dispose();
  await rm(scratch, { recursive: true });
});

const SETTINGS: FollowSettings = {
  choice: { kind: "first", count: 2 },
  decoder: "published",
  answers: "forced",
  maxCompletionLength: 8,
};

function job(out: string, changes: Partial<ClipJob> = {}): ClipJob {
  reads = [];
  return {
    model,
    modelHash: "tiny",
    clip,
    expression: clip.expressions[0] as ClipExpression,
    settings: SETTINGS,
    keepEvery: 2,
    out: join(scratch, out),
    signal: new AbortController().signal,
    say: () => undefined,
    ...changes,
  };
}

it("writes and scores masklets, and an interrupted run ends as one that was not", async () => {
  const before = tf.memory().numTensors;
  const said: string[] = [];
  const whole = await runClip(job("whole", { say: (text) => said.push(text) }));
  expect(
    said.map((text) => /^(\d) frames: \d+ bytes in the memory bank, \d+ bytes of tensors$/.exec(text)?.[1]),
  ).toEqual(["2", "4", "6", undefined]);
  expect(whole).toMatchObject({ clip: "drawn", expression: "0", answer: "Sure, [SEG].", frames: [0, 1], found: 1 });
  expect(whole.score?.jf).toBeCloseTo(((whole.score?.j ?? 0) + (whole.score?.f ?? 0)) / 2, 12);
  const folder = (out: string): string => join(scratch, out, "drawn", "0");
  const written = await readFile(join(folder("whole"), "masklets.json"), "utf8");
  const { objects, frames } = JSON.parse(written) as { objects: unknown[][]; frames: string[] };
  expect([objects.length, objects[0]?.length]).toEqual([1, 6]);
  expect((await readdir(folder("whole"))).sort()).toEqual(["masklets.json", "png"]);
  for (const [at, name] of frames.entries()) {
    const png = decodePng(await readFile(join(folder("whole"), "png", `${name}.png`)), "mask's");
    expect(Array.from(png.data, (pixel) => pixel / 255)).toEqual([...decodeRle(parseRle(objects[0]?.[at]))]);
  }

  const stop = new AbortController();
  onRead = (frame) => (frame === 3 ? stop.abort() : undefined);
  await expect(runClip(job("stopped", { signal: stop.signal, keepEvery: 99 }))).rejects.toMatchObject({
    code: "cancelled",
    message: "Following was stopped after frame 3; finished frames are kept",
  });
  onRead = () => undefined;
  await runClip(job("stopped"));
  // The size, the two frames of the language model, and the frames after the one at which it stopped.
  expect(reads).toEqual([0, 0, 1, 4, 5]);
  expect(await readFile(join(folder("stopped"), "masklets.json"), "utf8")).toBe(written);
  expect((await readdir(folder("stopped"))).sort()).toEqual(["masklets.json", "png"]);
  await runClip(job("stopped"));
  expect(reads).toEqual([]);
  const [named] = clip.expressions as [ClipExpression];
  // Corrected true masks are scored with the kept masklet.
  const right = async () => (objects[0] ?? []).map(parseRle);
  expect((await runClip(job("stopped", { expression: { ...named, truth: right } }))).score).toEqual({
    j: 1,
    f: 1,
    jf: 1,
  });
  expect(JSON.parse(await readFile(join(folder("stopped"), "masklets.json"), "utf8")).result.score.j).toBe(1);
  expect(reads).toEqual([]);
  for (const changes of [
    { modelHash: "other" },
    { expression: { ...named, text: "another thing" } },
    { settings: { ...SETTINGS, decoder: "alone" as const } },
    { clip: { ...clip, frames: clip.frames.map((source) => ({ ...source, size: source.size + 1 })) } },
  ]) {
    await expect(runClip(job("stopped", changes))).rejects.toMatchObject({
      message: /holds masklets of another model, clip, expression or settings; name another --out$/,
    });
  }
  for (const id of ["猫", "犬"]) await runClip(job("names", { clip: { ...clip, id } }));
  expect((await readdir(join(scratch, "names"))).length).toBe(2);
  expect(tf.memory().numTensors).toBe(before);
});

it("lets SAM2's tracker follow the masks of the chosen frames, decodes frames alone, and answers freely", async () => {
  const before = tf.memory().numTensors;
  const consistent = await runClip(
    job("i", { settings: { ...SETTINGS, decoder: "consistent", choice: { kind: "uniform", count: 2 } } }),
  );
  expect(consistent).toMatchObject({ frames: [0, 5], found: 1 });
  const objects = async (out: string): Promise<readonly unknown[][]> =>
    JSON.parse(await readFile(join(scratch, out, "drawn", "0", "masklets.json"), "utf8")).objects;
  await runClip(job("alone", { settings: { ...SETTINGS, decoder: "alone" } }));
  const [[alone], [whole]] = [await objects("alone"), await objects("whole")];
  // The frames that have the prompt are the same; the others have no memory.
  expect([alone?.length, alone?.slice(0, 2)]).toEqual([6, whole?.slice(0, 2)]);
  expect(alone?.slice(2)).not.toEqual(whole?.slice(2));
  const free = await runClip(job("free", { settings: { ...SETTINGS, answers: "free" } }));
  expect(free.answer).not.toBe(consistent.answer);
  // A [SEG] that ends the answer was never an input.
  expect(free.answer.split("[SEG]").length - 1 - free.found).toBeOneOf([0, 1]);
  if (free.found === 0) expect(free.score?.j).toBe(0);
  expect(tf.memory().numTensors).toBe(before);
});

it("a signal ends the tool with what is kept and how to go on", async () => {
  const words = [
    "--data",
    join(scratch, "data"),
    "--model",
    MODEL,
    "--out",
    join(scratch, "tool"),
    "--answers",
    "forced",
  ];
  const child = spawn(
    process.execPath,
    ["--import", "tsx", join(root, "scripts/masklets.ts"), ...words, "--keep", "1"],
    {
      cwd: root,
    },
  );
  let said = "";
  let sent = false;
  child.stderr.on("data", (text: Buffer) => {
    said += String(text);
    if (!sent && /^1 frames/m.test(said)) sent = child.kill("SIGINT");
  });
  expect(await new Promise((done) => child.once("close", (code, by) => done(by ?? code))), said).toBe(1);
  expect(said.trim().split("\n").at(-1)).toBe(
    "Interrupted after 0 of 1 masklets; what is finished is kept, run the same command again to continue",
  );
  expect(await readdir(join(scratch, "tool", "drawn", "0"))).toContain("partial.json");
});

it("is scored by npm run eval as by npm run masklets", async () => {
  const data = join(scratch, "data");
  const words = ["--suite", "vos", "--data", data, "--model", MODEL, "--answers", "forced", "--json"];
  const { code, out, err } = await tool("eval", [...words, "--out", join(scratch, "eval")]);
  expect(code, err).toBe(0);
  const { systems } = JSON.parse(out) as { systems: { base: readonly { metric: string; value: number }[] } };
  const five: FollowSettings = { ...SETTINGS, choice: { kind: "first", count: 5 } };
  const { score } = await runClip(job("five", { settings: five }));
  expect(systems.base.map(({ value }) => value)).toEqual([score?.j, score?.f, score?.jf]);
  // Answers to another expression of the same number are not taken up.
  const meta = join(data, "valid_u", "meta_expressions.json");
  const changed = await mkdtemp(join(scratch, "changed-"));
  await cp(data, changed, { recursive: true });
  await writeFile(
    join(changed, "valid_u", "meta_expressions.json"),
    (await readFile(meta, "utf8")).replace("the red disc", "the blue disc"),
  );
  const again = [...words.map((word) => (word === data ? changed : word)), "--out", join(scratch, "eval")];
  expect(await tool("eval", again)).toMatchObject({
    code: 2,
    err: expect.stringContaining("(different rows)"),
  });
});

it("reads the true masks before the work, and names one of another size", async () => {
  const expression = clip.expressions[0] as ClipExpression;
  const truth = async () => clip.names.map(() => parseRle({ size: [3, 3], counts: [9] }));
  const stopped = AbortSignal.abort();
  const wrong = job("wrong", { expression: { ...expression, truth }, signal: stopped });
  await expect(runClip(wrong)).rejects.toThrow("drawn, 0: a mask is 3 x 3, the frames are 88 x 56");
  const lost = async () => {
    throw new Error("its masks are damaged");
  };
  const damaged = job("wrong", { expression: { ...expression, truth: lost }, signal: stopped });
  await expect(runClip(damaged)).rejects.toThrow("its masks are damaged");
});

it("names a frame of another size and keeps the finished ones", async () => {
  const small = encode({ width: 30, height: 30, data: new Uint8Array(2700), channels: 3, depth: 8 });
  const frames = clip.frames.map((source, at) =>
    at === 4 ? { name: "4.png", size: small.length, read: async () => Uint8Array.from(small) } : source,
  );
  const before = tf.memory().numTensors;
  await expect(runClip(job("sizes", { clip: { ...clip, frames } }))).rejects.toThrow(
    "Frame 4 is 30 x 30, the clip began with 88 x 56; finished frames are kept",
  );
  expect(await readdir(join(scratch, "sizes", "drawn", "0"))).toContain("partial.json");
  expect(tf.memory().numTensors).toBe(before);
});
