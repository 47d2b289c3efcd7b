/**
 * Rotary frequencies of the language families, plain and rescaled for long sequences
 * (docs/spec/sa2va.md#11-language-models). The scaling depends on the largest position of a pass plus one, as in the
 * published modules.
 */
import { addTo } from "../../bytes/collections.ts";
import { LabError, quote } from "../../errors.ts";
import { type Fields, fieldsOf } from "../config-fields.ts";

/** Larger than the context of any published model. */
export const MOST_POSITIONS = 2 ** 30;

type RopeScaling =
  | { readonly kind: "none" }
  /** The base grows once a sequence is longer than `limit` tokens. */
  | { readonly kind: "dynamic"; readonly factor: number; readonly limit: number }
  /** All positions are divided by `factor`. */
  | { readonly kind: "linear"; readonly factor: number }
  /** Each frequency has its own divisor at every length; cos and sin are multiplied by `amplitude`. */
  | { readonly kind: "divided"; readonly divisors: readonly number[]; readonly amplitude: number }
  /**
   * Each frequency has one divisor up to `limit` tokens and another one above; cos and sin are multiplied by
   * `amplitude`.
   */
  | {
      readonly kind: "factors";
      readonly short: readonly number[];
      readonly long: readonly number[];
      readonly limit: number;
      readonly amplitude: number;
    };

export interface RopeConfig {
  readonly theta: number;
  readonly scaling: RopeScaling;
  /**
   * The coordinate of a token's place that each pair of channels turns by, [d/2] of 0 = order, 1 = row, 2 = column;
   * absent where places have only an order (docs/spec/qwen-vl.md#6-language-model).
   */
  readonly axes?: readonly number[];
}

interface RopeFrequencies {
  /** Angle per position of each pair of channels, [d/2]. */
  readonly perPosition: readonly number[];
  /** Factor of cos and sin. */
  readonly amplitude: number;
}

/**
 * @param width channels of a head, even
 * @param length largest position of the pass + 1
 */
export function ropeFrequencies(rope: RopeConfig, width: number, length: number): RopeFrequencies {
  const { scaling } = rope;
  const plain = (theta: number): number[] => Array.from({ length: width / 2 }, (_, k) => theta ** ((-2 * k) / width));
  switch (scaling.kind) {
    case "none":
      return { perPosition: plain(rope.theta), amplitude: 1 };
    case "linear":
      return { perPosition: plain(rope.theta).map((value) => value / scaling.factor), amplitude: 1 };
    case "divided": {
      const perPosition = plain(rope.theta).map((value, k) => value / (scaling.divisors[k] as number));
      return { perPosition, amplitude: scaling.amplitude };
    }
    case "dynamic": {
      if (length <= scaling.limit) return { perPosition: plain(rope.theta), amplitude: 1 };
      const growth = (scaling.factor * length) / scaling.limit - (scaling.factor - 1);
      return { perPosition: plain(rope.theta * growth ** (width / (width - 2))), amplitude: 1 };
    }
    case "factors": {
      const divisors = length > scaling.limit ? scaling.long : scaling.short;
      const perPosition = plain(rope.theta).map((value, k) => value / (divisors[k] as number));
      return { perPosition, amplitude: scaling.amplitude };
    }
  }
}

/**
 * Groups the indices of sequences with equal rotation: those up to the limit together, and those above it together or,
 * with dynamic scaling, by length.
 */
export function rotatedAlike(rope: RopeConfig, lengths: readonly number[]): number[][] {
  const groups = new Map<number, number[]>();
  for (const [at, length] of lengths.entries()) {
    const beyond = "limit" in rope.scaling && length > rope.scaling.limit;
    const key = !beyond ? 0 : rope.scaling.kind === "dynamic" ? length : Number.POSITIVE_INFINITY;
    addTo(groups, key, at);
  }
  return [...groups.values()];
}

/** Number of tokens above which the frequencies change; undefined if they never do. */
export function ropeSwitch(rope: RopeConfig): number | undefined {
  return "limit" in rope.scaling ? rope.scaling.limit : undefined;
}

/**
 * Reads `rope_theta` and `rope_scaling` of llm_config; newer files hold both in `rope_parameters`.
 * @param headSize channels of a head
 * @param maxPositions `max_position_embeddings`
 * @param defaultTrained the family's default of `original_max_position_embeddings`, if it has one
 * @throws LabError("unsupported") for another kind of scaling, LabError("bad-config") for a field that is wrong
 */
export function parseRope(fields: Fields, headSize: number, maxPositions: number, defaultTrained?: number): RopeConfig {
  const merged = fields.raw("rope_parameters") === undefined ? undefined : fields.child("rope_parameters");
  const theta = (merged?.raw("rope_theta") === undefined ? fields : merged).number("rope_theta", DEFAULT_THETA);
  const value = fields.raw("rope_scaling");
  for (const group of [fields, ...(merged === undefined ? [] : [merged])]) checkWholeHeads(group);
  if (merged === undefined && value === undefined) return { theta, scaling: { kind: "none" } };
  const scaling = merged ?? (typeof value === "string" ? fieldsOf({ type: value }, "") : fields.child("rope_scaling"));
  const named = scaling.raw("rope_type") ?? scaling.raw("type") ?? "default";
  const type = typeof named === "string" ? named : "";
  // As in transformers, the field outside the group takes precedence over the one inside, even if it is a default.
  const inside = scaling.whole(TRAINED, maxPositions, MOST_POSITIONS);
  const trained = fields.whole(TRAINED, defaultTrained ?? inside, MOST_POSITIONS);
  switch (type) {
    case "default":
    case "mrope": {
      const axes = parseAxes(scaling, headSize);
      return { theta, scaling: { kind: "none" }, ...(axes === undefined ? {} : { axes }) };
    }
    case "linear":
      return { theta, scaling: { kind: "linear", factor: scaling.number("factor", 1) } };
    case "dynamic":
      return { theta, scaling: { kind: "dynamic", factor: scaling.number("factor", 1), limit: maxPositions } };
    case "llama3": {
      const divisors = llamaDivisors(scaling, theta, headSize, trained);
      return { theta, scaling: { kind: "divided", divisors, amplitude: 1 } };
    }
    case "su":
    case "longrope":
    case "yarn": {
      // Only Phi-3's yarn has a list of divisors.
      if (scaling.raw("short_factor") === undefined) {
        if (type !== "yarn") break;
        return { theta, scaling: yarn(scaling, theta, headSize, trained, maxPositions) };
      }
      const growth = scaling.number("factor", maxPositions / trained);
      const given = scaling.raw("attention_factor");
      const amplitude = given === undefined ? amplitudeOf(type, growth, trained) : scaling.number("attention_factor");
      const short = factorList(scaling, "short_factor", headSize / 2);
      const long = factorList(scaling, "long_factor", headSize / 2);
      return { theta, scaling: { kind: "factors", short, long, limit: trained, amplitude } };
    }
  }
  throw new LabError("unsupported", `config.json: llm_config.rope_scaling of type ${quote(named)} is not supported`, {
    subject: "llm_config.rope_scaling",
  });
}

/**
 * `mrope_section` counts the pairs of channels of each coordinate: in three runs, or with `mrope_interleaved` by turns as
 * long as a coordinate has pairs left, the rest for the order.
 */
function parseAxes(scaling: Fields, headSize: number): readonly number[] | undefined {
  if (scaling.raw("mrope_section") === undefined) return undefined;
  const pairs = headSize / 2;
  const sections = scaling.wholes("mrope_section", [], 1, pairs);
  const sum = sections.reduce((total, count) => total + count, 0);
  if (sections.length !== 3 || sum !== pairs) {
    throw new LabError(
      "bad-config",
      `config.json: mrope_section counts ${sum} pairs of channels on ${sections.length} axes, a head has ${pairs} on 3`,
      { subject: "mrope_section" },
    );
  }
  if (!scaling.flag("mrope_interleaved", false)) {
    return sections.flatMap((count, axis) => new Array<number>(count).fill(axis));
  }
  return Array.from({ length: pairs }, (_, pair) => (pair < 3 * (sections[pair % 3] as number) ? pair % 3 : 0));
}

/** @throws LabError("unsupported") when only a part of each head is rotated */
function checkWholeHeads(fields: Fields): void {
  if (fields.number("partial_rotary_factor", 1) === 1) return;
  throw new LabError("unsupported", "config.json: llm_config.partial_rotary_factor other than 1 is not supported", {
    subject: "llm_config.partial_rotary_factor",
  });
}

/**
 * Llama 3: wavelengths much shorter than the trained length are unchanged, much longer ones are multiplied by `factor`,
 * and in between the frequency is interpolated.
 */
function llamaDivisors(scaling: Fields, theta: number, headSize: number, trained: number): number[] {
  const factor = scaling.number("factor");
  const [low, high] = [scaling.number("low_freq_factor"), scaling.number("high_freq_factor")];
  return Array.from({ length: headSize / 2 }, (_, k) => {
    const turns = trained / (2 * Math.PI * theta ** ((2 * k) / headSize));
    if (turns < low) return factor;
    if (turns > high) return 1;
    const kept = (turns - low) / (high - low);
    return 1 / ((1 - kept) / factor + kept);
  });
}

/**
 * YaRN as in Hugging Face's modules: frequencies with many turns within the trained length are unchanged, those with
 * few are divided by `factor`, and in between the share increases linearly from pair to pair.
 */
function yarn(scaling: Fields, theta: number, headSize: number, trained: number, maxPositions: number): RopeScaling {
  const factor = scaling.number("factor", maxPositions / trained);
  const pairOf = (turns: number): number =>
    (headSize * Math.log(trained / (turns * 2 * Math.PI))) / (2 * Math.log(theta));
  const rounds = scaling.flag("truncate", true);
  const [first, last] = [pairOf(scaling.number("beta_fast", 32)), pairOf(scaling.number("beta_slow", 1))];
  const low = Math.max(0, rounds ? Math.floor(first) : first);
  const high = Math.min(headSize - 1, rounds ? Math.ceil(last) : last);
  const divisors = Array.from({ length: headSize / 2 }, (_, k) => {
    const divided = Math.min(1, Math.max(0, (k - low) / (high === low ? 1e-3 : high - low)));
    return 1 / (divided / factor + 1 - divided);
  });
  return { kind: "divided", divisors, amplitude: yarnAmplitude(scaling, factor) };
}

function yarnAmplitude(scaling: Fields, factor: number): number {
  if (scaling.raw("attention_factor") !== undefined) return scaling.number("attention_factor");
  const scaled = (share: number): number => (factor <= 1 ? 1 : 0.1 * share * Math.log(factor) + 1);
  const [some, all] = [scaling.raw("mscale"), scaling.raw("mscale_all_dim")];
  if (some === undefined || all === undefined) return scaled(1);
  return scaled(scaling.number("mscale")) / scaled(scaling.number("mscale_all_dim"));
}

/** Field that holds the length before rescaling. */
const TRAINED = "original_max_position_embeddings";

/** Default of Hugging Face's configurations. */
const DEFAULT_THETA = 10_000;

function amplitudeOf(type: "su" | "longrope" | "yarn", growth: number, trained: number): number {
  if (growth <= 1) return 1;
  return type === "yarn" ? 0.1 * Math.log(growth) + 1 : Math.sqrt(1 + Math.log(growth) / Math.log(trained));
}

function factorList(fields: Fields, key: string, count: number): number[] {
  const value = fields.raw(key);
  const usable =
    Array.isArray(value) && value.every((item) => typeof item === "number" && Number.isFinite(item) && item > 0);
  if (!usable || value.length !== count) {
    throw new LabError(
      "bad-config",
      `config.json: llm_config.rope_scaling.${key} must be a list of ${count} numbers above 0, one per pair of channels`,
      { subject: `llm_config.rope_scaling.${key}` },
    );
  }
  return value as number[];
}
