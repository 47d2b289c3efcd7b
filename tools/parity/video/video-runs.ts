/** The runs of a video golden set through a clip: those of Sa2VA, Sa2VA-i and SAM 2.1. */
import { LabError } from "../../../src/engine/errors.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import type { FrameMaps } from "../../../src/engine/model/sam2/hiera.ts";
import { imageLogits } from "../../../src/engine/model/sam2/postprocess.ts";
import { Tracker, TUNED_DECODER } from "../../../src/plugins/clips/sam2/clip.ts";
import { disposeFrameMasks, type FrameMasks, promptedMasks } from "../../../src/plugins/clips/sam2/frame-masks.ts";
import { type GivenMask, squareMask } from "../../../src/plugins/clips/sam2/mask-prompt.ts";
import { Captured } from "../probes.ts";
import type { VideoGolden } from "./video-golden.ts";

export const VIDEO_CASES = ["first", "two", "sa2va", "reverse", "long", "alone", "sa2va_i.first", "sa2va_i", "sam21"];

/** Arrays of a run under the names of the golden files. */
export interface ClipRun {
  readonly arrays: ReadonlyMap<string, Float32Array>;
  /** Logits at video size of every stored frame and object, one after another. */
  readonly logits: Float32Array[];
}

/** @param shown frames that the golden file holds, ascending */
export async function runCase(golden: VideoGolden, name: string, shown: readonly number[]): Promise<ClipRun> {
  const { json } = golden;
  const last = golden.maps.length - 1;
  const conditioning = json.conditioning_frames as number[];
  const all = [...golden.maps.keys()];
  const lang = await golden.input.tensor("language");
  const one = tf.tidy(() => lang.slice([0, 0], [1, lang.shape[1] as number]));
  const kept = new Recorder(golden, shown);
  try {
    if (name === "alone" || name === "sa2va_i.first") {
      const decoder = name === "alone" ? undefined : TUNED_DECODER;
      for (const frame of shown) {
        const maps = golden.maps[frame] as FrameMaps;
        const masks = promptedMasks(golden.weights, golden.config, maps, name === "alone" ? lang : one, decoder);
        await kept.take(frame, masks);
      }
      return kept.run();
    }
    const longer = name === "long" ? (json.long_frames as number) : all.length;
    const clip = Array.from({ length: longer }, (_, t) => golden.maps[bounced(t, last)] as FrameMaps);
    const weights = name === "sam21" ? golden.weights21 : golden.weights;
    const tracker = new Tracker(weights, golden.config, { total: clip.length, blank: name === "sa2va_i" });
    try {
      if (name === "sa2va_i") {
        const given = await firstMasks(golden, one, kept);
        for (const [frame, mask] of given) {
          await kept.take(frame, tracker.conditionMasks(frame, clip[frame] as FrameMaps, [mask]), tracker);
        }
      } else {
        const prompted = name === "reverse" ? [last] : name === "sa2va" || name === "long" ? conditioning : [0];
        const prompts = name === "two" || name === "sa2va" || name === "sam21" ? lang : one;
        for (const frame of prompted) {
          await kept.take(frame, tracker.condition(frame, clip[frame] as FrameMaps, prompts), tracker);
        }
      }
      const order = [...clip.keys()];
      for (const frame of name === "reverse" ? order.reverse() : order) {
        if (tracker.bank.has(frame)) continue;
        const probe = new Captured();
        const masks = tracker.track(frame, clip[frame] as FrameMaps, name === "reverse", probe.probe);
        await kept.attention(frame, probe);
        await kept.take(frame, masks, tracker);
      }
    } finally {
      tracker.dispose();
    }
    if (name === "two") kept.apart(2);
    return kept.run();
  } finally {
    tf.dispose([lang, one]);
  }
}

/** Frame of a clip that repeats its pictures forward and backward. */
function bounced(frame: number, last: number): number {
  return last === 0 ? 0 : Math.abs(((frame + last) % (2 * last)) - last);
}

/** The first pass of Sa2VA-i: masks at video size from the fine-tuned decoder, each frame alone. */
async function firstMasks(golden: VideoGolden, lang: Tensor, kept: Recorder): Promise<Map<number, GivenMask>> {
  const [width, height] = golden.json.video_size as [number, number];
  const given = new Map<number, GivenMask>();
  for (const frame of golden.json.uniform_frames as number[]) {
    const masks = promptedMasks(golden.weights, golden.config, golden.maps[frame] as FrameMaps, lang, TUNED_DECODER);
    const large = imageLogits(masks.lowRes, masks.lowRes.shape[1] as number, height, width);
    given.set(frame, { data: bitsOf((await large.data()) as Float32Array), height, width });
    large.dispose();
    disposeFrameMasks(masks);
  }
  const all = [...given.values()];
  kept.put("given_masks", ...all.map(({ data }) => Float32Array.from(data)));
  kept.put("given_masks_square", ...all.map((mask) => Float32Array.from(squareMask(mask, golden.config.imageSize))));
  return given;
}

/** Collects the results of a run's frames, in the order of time. */
class Recorder {
  private readonly parts = new Map<string, Map<number, Float32Array>>();
  private readonly logits = new Map<number, Float32Array[]>();
  private readonly golden: VideoGolden;
  private readonly shown: readonly number[];

  constructor(golden: VideoGolden, shown: readonly number[]) {
    this.golden = golden;
    this.shown = shown;
  }

  put(name: string, ...values: readonly Float32Array[]): void {
    this.parts.set(name, new Map(values.map((part, at) => [at, part])));
  }

  /** Reads the results of a frame, with its memory, and frees them. */
  async take(frame: number, masks: FrameMasks, tracker?: Tracker): Promise<void> {
    if (this.shown.includes(frame)) {
      const { lowRes, score, pointer, iou, index } = masks;
      const named: [string, Tensor | undefined][] = [
        ["low_res_masks", lowRes],
        ["object_scores", score],
        ["pointers", pointer],
        ["ious", iou],
        ["best_idx", index],
      ];
      for (const [name, tensor] of named) if (tensor !== undefined) await this.add(name, frame, tensor);
      const map = tracker?.bank.mapOf(frame);
      if (map !== undefined) await this.turned("memory_features", frame, map);
      const [width, height] = this.golden.json.video_size as [number, number];
      const large = imageLogits(lowRes, this.golden.config.imageSize, height, width);
      const values = (await large.data()) as Float32Array;
      large.dispose();
      const each = height * width;
      const objects = Array.from({ length: values.length / each }, (_, at) => values.slice(at * each, (at + 1) * each));
      this.logits.set(frame, objects);
      this.set(
        "masks",
        frame,
        values.map((logit) => Number(logit > 0)),
      );
    }
    disposeFrameMasks(masks);
  }

  /** Keeps the memory attention of a frame. */
  async attention(frame: number, probe: Captured): Promise<void> {
    const path = `attention.${frame}`;
    const joined = async (maps: string, pointers: string): Promise<Float32Array> =>
      (await probe.with(maps, async (left) => {
        const tokens = await probe.with("attention.pointers", async (shape) => shape.shape);
        const right = probe.has(pointers) ? await probe.with(pointers, async (x) => x.clone()) : undefined;
        const whole = tf.tidy(() =>
          tf.concat([left, right ?? tf.zeros([left.shape[0] as number, ...(tokens ?? []).slice(1)])], 1),
        );
        right?.dispose();
        const values = Float32Array.from(await whole.data());
        whole.dispose();
        return values;
      })) as Float32Array;
    this.put(`${path}.memory`, await joined("attention.maps", "attention.pointers"));
    const positions = await joined("attention.map_positions", "attention.pointer_positions");
    const objects = (await probe.with("attention.maps", async (maps) => maps.shape[0] as number)) ?? 1;
    this.put(`${path}.memory_pos`, ...Array.from({ length: objects }, () => positions));
    for (const name of probe.names) {
      const layer = /^attention\.(layer\.\d+)$/.exec(name)?.[1];
      if (layer !== undefined) this.put(`${path}.${layer}`, await probe.read(name, false));
    }
    this.put(`${path}.out`, await probe.read("attention.out", true));
    probe.dispose();
  }

  /**
   * The logits of a frame under an option that Sa2VA leaves off: a pixel with a higher score for another object keeps
   * at most −10.
   */
  apart(frame: number): void {
    const values = this.parts.get("low_res_masks")?.get(frame);
    if (values === undefined) throw new LabError("internal", `Frame ${frame} was not kept`);
    const each = (this.golden.config.imageSize / 4) ** 2;
    const apart = values.map((logit, at) => {
      const taken = values.some((other, place) => (place - at) % each === 0 && other > logit);
      return taken ? Math.min(logit, -10) : logit;
    });
    this.put(`non_overlap.frame${frame}`, apart);
  }

  run(): ClipRun {
    const arrays = new Map<string, Float32Array>();
    for (const [name, parts] of this.parts) {
      const ordered = [...parts].sort(([a], [b]) => a - b);
      arrays.set(name, Float32Array.from(ordered.flatMap(([, part]) => [...part])));
    }
    return { arrays, logits: this.shown.flatMap((frame) => this.logits.get(frame) ?? []) };
  }

  private async add(name: string, frame: number, tensor: Tensor): Promise<void> {
    this.set(name, frame, Float32Array.from(await tensor.data()));
  }

  /** [B, cells, M] as [B, M, cells]. */
  private async turned(name: string, frame: number, map: Tensor): Promise<void> {
    const first = map.transpose([0, 2, 1]);
    await this.add(name, frame, first);
    first.dispose();
  }

  private set(name: string, frame: number, values: Float32Array): void {
    const parts = this.parts.get(name) ?? new Map<number, Float32Array>();
    this.parts.set(name, parts.set(frame, values));
  }
}

const bitsOf = (logits: Float32Array): Uint8Array => Uint8Array.from(logits, (logit) => Number(logit > 0));
