/** Objects followed through an open clip by the session: the rules of try-outs, decoders, cancelling and continuing. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { nodeSession } from "../../scripts/lib/node/node-session.ts";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { visibleFrames } from "../../src/engine/data/film-strip.ts";
import { decodeRle, encodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import type { RegionSummary } from "../../src/engine/data/sample.ts";
import type { TrainingRow } from "../../src/engine/data/training-row.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { Session } from "../../src/engine/session/session.ts";
import {
  ClipFollower,
  type FollowAsked,
  type FollowEvent,
  type FollowTask,
} from "../../src/plugins/clips/follow-clip.ts";
import type { ClipDecoder } from "../../src/plugins/clips/masklets.ts";
import { askSession, type TryTask } from "../../src/plugins/try-out/answer-question.ts";
import { useGpu } from "../support/gpu.ts";
import { openTestLab, POCKET, untilPaused } from "../support/session.ts";

const TINY = join(root, "tests/golden/sa2va-tiny-qwen2");
const CLIPS = join(root, "public", "pocket", "clips");
/** Frames of the drawn clip (more than the memory bank holds), and their size. */
const FRAMES = 36;
const [HEIGHT, WIDTH] = [24, 32];

const follower = new ClipFollower();

const never = (): AbortSignal => new AbortController().signal;

/** The reported frames. */
function listener() {
  const events: FollowEvent[] = [];
  const tell = (event: FollowEvent): void => void events.push(event);
  const frames = () => events.flatMap((event) => (event.kind === "frame" ? [event] : []));
  return { events, tell, frames };
}

function expressions(decoder: ClipDecoder, ...texts: string[]): FollowTask {
  const settings = { choice: { kind: "first", count: 2 }, decoder, answers: "forced", maxCompletionLength: 8 } as const;
  return { kind: "expressions", expressions: texts, settings };
}

/** A bright box that crosses a dark clip. */
function drawnRow(frames: number): TrainingRow {
  const data = new Uint8Array(frames * HEIGHT * WIDTH * 3).fill(40);
  const box = new Uint8Array(frames * HEIGHT * WIDTH);
  for (let row = 0; row < frames * HEIGHT; row++) {
    const [frame, y] = [Math.floor(row / HEIGHT), row % HEIGHT];
    if (y < 8 || y >= 16) continue;
    const from = row * WIDTH + Math.floor((frame * (WIDTH - 8)) / frames);
    box.fill(1, from, from + 8);
    data.fill(220, 3 * from, 3 * (from + 8));
  }
  const size = { width: WIDTH, height: frames * HEIGHT };
  const place = { index: 0, id: "drawn#0", file: "drawn", row: 0, region: 0, imageId: `drawn ${frames}` };
  const texts = { caption: "the box", category: [], maskShare: 0.1 };
  const summary: RegionSummary = { ...place, ...size, frames, ...texts, mask: encodeRle(box, size.height, WIDTH) };
  return { summary, rgb: { ...size, data }, mask: box };
}

describe("beside a run", () => {
  it("follows while the run is paused, ends when it continues, and forgets the frames of other weights", async () => {
    const lab = await openTestLab({ shards: [CLIPS] });
    const asked: FollowAsked = {
      ...{ row: 0, task: expressions("alone", "the car"), from: { from: "base" }, memory: undefined, resume: true },
    };
    lab.watch = (event, session) => {
      if (event.type === "phase" && event.phase === "partner") session.trainer?.control.pause();
    };
    const run = await lab.start({ clipFrames: 2 });
    const refused = follower.follow(lab.session, asked, () => undefined, never());
    await expect(refused).rejects.toThrow("A run is in progress. Pause it before you try the model");
    await untilPaused(lab);
    const { events, tell, frames } = listener();
    const whole = await follower.follow(lab.session, asked, tell, never());
    expect(events[0]).toEqual({ kind: "answers", answers: ["Sure, [SEG]."], expressions: [0] });
    expect(frames().map(({ frame, done }) => [frame, done])).toEqual([0, 1, 2, 3, 4, 5].map((at) => [at, at + 1]));
    expect(whole.masklets).toEqual([frames().map(({ masks: [mask] }) => mask)]);
    let stopped: Promise<void> | undefined;
    const interrupted = follower.follow(
      lab.session,
      asked,
      (event) => {
        if (event.kind === "frame" && event.frame === 2) stopped = lab.session.control("stop");
      },
      never(),
    );
    await expect(interrupted).rejects.toMatchObject({ code: "cancelled" });
    await stopped;
    await run.done;
    const again = listener();
    await follower.follow(lab.session, asked, again.tell, never());
    expect(again.frames()[0]?.done).toBe(1);
    // Questions about the row use evenly spread frames, not one tall picture.
    const { summary, rgb } = await (await openNodeRows([CLIPS])).rows(0);
    const { imageId: id, frames: count, mask } = summary;
    const ask = (task: TryTask) =>
      askSession(
        lab.session,
        { picture: { id, rgb, frames: count }, task, from: { from: "base" } },
        () => undefined,
        never(),
      );
    const found = await ask({ kind: "segment", phrases: ["the dog"] });
    const seen = found.kind === "segment" ? visibleFrames(decodeRle(found.masks[0]?.mask as Rle), 6) : [];
    expect([seen.length > 0, seen.includes(4)]).toEqual([true, false]);
    const described = await ask({ kind: "describe", regions: [mask], maxCompletionLength: 4 });
    expect(described).toEqual({ kind: "describe", captions: [expect.any(String)] });
    lab.session.dispose();
  });
});

describe("with SAM2's memory", () => {
  let session: Session;
  let memory: ByteFolder;
  const [long, short] = [drawnRow(FRAMES), drawnRow(8)];

  beforeAll(async () => {
    const { frames: _, ...picture } = short.summary;
    const rows = [long, short, { ...short, summary: picture }];
    session = await nodeSession(await useGpu(), { rows: async (index) => rows[index] as TrainingRow });
    memory = await nodeFolder(TINY);
    await session.openModel(memory, "tiny");
  });
  afterAll(() => session.dispose());

  const ask = (task: FollowTask, changes: Partial<FollowAsked> = {}): FollowAsked => ({
    ...{ row: 0, task, from: { from: "base" }, memory, resume: false },
    ...changes,
  });

  it("holds as much from frame 26 on as at the end, for several expressions at once", async () => {
    const before = tf.memory().numTensors;
    const { events, tell, frames } = listener();
    const found = await follower.follow(
      session,
      ask(expressions("published", "the box", "the dark part")),
      tell,
      never(),
    );
    expect(events[0]).toMatchObject({ kind: "answers", expressions: [0, 1] });
    expect(found.masklets.map((masks) => masks.length)).toEqual([FRAMES, FRAMES]);
    expect(found.masklets.flat().every(({ size }) => size.join() === `${HEIGHT},${WIDTH}`)).toBe(true);
    const late = frames().filter(({ done }) => done >= 26);
    expect(late.length).toBe(11);
    expect(new Set(late.map(({ bankBytes, tensorBytes }) => `${bankBytes} ${tensorBytes}`)).size).toBe(1);
    expect(late[0]?.bankBytes).toBeGreaterThan(0);
    // The tensors of the memory were loaded for this clip only.
    expect(tf.memory().numTensors).toBe(before);
  });

  it.each<readonly [string, FollowTask]>([
    ["consistent", expressions("consistent", "the box")],
    [
      "given mask",
      { kind: "masks", frame: 3, masks: [encodeRle(new Uint8Array(HEIGHT * WIDTH).fill(1, 99, 200), HEIGHT, WIDTH)] },
    ],
  ])("of a %s continues at the frame where it stopped, and ends as one that was not", async (_, task) => {
    const before = tf.memory().numTensors;
    const whole = await follower.follow(session, ask(task, { row: 1 }), () => undefined, never());
    const stop = new AbortController();
    const first = listener();
    const stopped = follower.follow(
      session,
      ask(task, { row: 1 }),
      (event) => {
        first.tell(event);
        if (event.kind === "frame" && event.done === 5) stop.abort();
      },
      stop.signal,
    );
    const other = follower.follow(session, ask(task, { row: 1 }), () => undefined, never());
    await expect(other).rejects.toThrow("A try-out is in progress; wait for its answer or stop it");
    await expect(stopped).rejects.toMatchObject({ code: "cancelled", message: expect.stringContaining("are kept") });
    const rest = listener();
    const resumed = await follower.follow(session, ask(task, { row: 1, resume: true }), rest.tell, never());
    expect(rest.frames().map(({ done }) => done)).toEqual([6, 7, 8]);
    expect(resumed).toEqual(whole);
    if (task.kind === "masks") expect([whole.frames, first.frames()[0]?.masks]).toEqual([[3], task.masks]);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("refuses what cannot be followed in one sentence, and keeps nothing on the device", async () => {
    const before = tf.memory().numTensors;
    const whole = encodeRle(new Uint8Array(HEIGHT * WIDTH).fill(1), HEIGHT, WIDTH);
    const none = encodeRle(new Uint8Array(HEIGHT * WIDTH), HEIGHT, WIDTH);
    const masks = (frame: number, ...own: Rle[]): FollowTask => ({ kind: "masks", frame, masks: own });
    const cases: readonly (readonly [FollowAsked, string])[] = [
      [ask(masks(FRAMES, whole)), "Frame 36 has a mask, but the clip has frames 0 to 35"],
      [
        ask(masks(0, long.summary.mask)),
        "The mask of frame 0 is 32 x 864 pixels, the frame 32 x 24; nothing was followed",
      ],
      [ask(masks(3, none)), "The mask of frame 3 is empty; nothing was followed"],
      [ask(masks(3)), "Frame 3 has no mask; nothing was followed"],
      [ask(masks(0, whole), { row: 2 }), "Row drawn#0 is a picture; only clips are followed"],
      [ask(masks(0, whole), { memory: undefined }), "The model's folder is not open, so SAM2's memory cannot be read"],
      [
        ask(masks(0, whole), { memory: await nodeFolder(POCKET) }),
        "The checkpoint can only decode frames alone: it lacks SAM2's memory",
      ],
    ];
    for (const [asked, sentence] of cases) {
      await expect(follower.follow(session, asked, () => undefined, never())).rejects.toThrow(sentence);
    }
    expect(tf.memory().numTensors).toBe(before);
  });
});
