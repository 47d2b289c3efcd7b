/** What a family reads from config.json: its vision tower, how pictures become tokens, and how it was trained. */
import type { Fields } from "../config-fields.ts";
import type { TilingConfig } from "../preprocess/tiling.ts";

/** How a region is shown to the language model: copies of its visual tokens, or a mark drawn into the picture. */
export type RegionPrompt = "tokens" | "outline" | "dim";

export type NamedShape = readonly [name: string, shape: readonly number[]];

/** Sizes that every vision tower has. */
export interface VisionSizes {
  readonly hiddenSize: number;
  readonly layers: number;
  readonly heads: number;
  readonly mlpSize: number;
  readonly patchSize: number;
}

export interface FamilyConfig extends TilingConfig {
  /** Name of its code in the registry. */
  readonly family: string;
  readonly vision: VisionSizes;
  /** False: every picture is one tile. */
  readonly dynamicImageSize: boolean;
  readonly psVersion: "v1" | "v2";
  /** Visual tokens of one tile; where they depend on the picture, the most it can have. */
  readonly tokensPerTile: number;
  /** Side of the visual-token grid of a square tile; tokensPerTile is its square. */
  readonly tokenGridSide: number;
  /** The region prompt that the family's releases understand. */
  readonly regionPrompt: RegionPrompt;
  /** Whether [SEG]'s state is taken after the language model's final norm. */
  readonly segAfterNorm: boolean;
}

/** A family's entry in the list that config.json is compared with. */
export interface FamilyReader {
  /** What the lab loads, for refusals, e.g. "Sa2VAChatModel on InternVL". */
  readonly loads: string;
  /** Whether config.json is of this family, by its class and its tower; undefined where the file names none. */
  matches(architecture: string | undefined, tower: string | undefined): boolean;
  /** Object with the language model's sizes. */
  languageFields(top: Fields): Fields;
  /** @throws LabError naming the field that is missing or wrong */
  read(top: Fields): FamilyConfig;
}

/** Limits for sizes in config.json; larger than in any published tower. */
export const MOST_BLOCKS = 512;
export const MOST_HEADS = 1024;
export const MOST_PIXELS = 8192;
