/** What a family of vision towers does; the rest of the engine is the same for all. */
import type { RgbImage } from "../../data/sample.ts";
import type { Paced } from "../../gpu/runtime/work-budget.ts";
import type { Tensor } from "../../gpu/tf.ts";
import type { VisualGrid } from "../../text/prompt.ts";
import type { Sa2vaConfig } from "../config.ts";
import type { TilingConfig } from "../preprocess/tiling.ts";
import type { Weights } from "../weights/weights.ts";
import type { NamedShape } from "./family-config.ts";

/** A picture in the form that the vision tower reads, in host memory. */
export interface CutPicture {
  /** Visual tokens of each tile. */
  readonly grid: VisualGrid;
  /** 8-bit RGB of each tile. */
  readonly tiles: readonly RgbImage[];
}

/** Pixels of a picture, or of a frame of a clip. */
export type PictureSize = Pick<RgbImage, "height" | "width">;

interface CutOptions {
  /** Upper limit of tiles. */
  readonly maxTiles: number;
  /** How the model cuts pictures into tiles. */
  readonly tiling: TilingConfig;
  /** Whether to resize twice, as the published inference of families without tiles does. */
  readonly resizeTwice?: boolean;
}

/** Elements of arrays for one tile. */
interface TileSizes {
  readonly features: number;
  /** What the tower holds at a time while it computes them. */
  readonly tower: number;
  /** What a tape of their projection makes. */
  readonly projection: number;
  /** The projected tokens, with what the first layers add beside them. */
  readonly projected: number;
}

export interface VisionFamily {
  /** Tensors of the tower and the projector, with their published names. */
  shapes(config: Sa2vaConfig): NamedShape[];
  /** Beginnings of the names of the projector's tensors. */
  readonly projector: readonly string[];
  /** Whether the published training trains the projector; otherwise its matrices are stored like frozen ones. */
  readonly trainsProjector: boolean;
  cut(config: Sa2vaConfig, picture: RgbImage, options: CutOptions): CutPicture;
  /** Visual tokens of each tile of a picture of this size, or of a frame of a clip. */
  grid(config: Sa2vaConfig, height: number, width: number): VisualGrid;
  /** A frame of a clip, which is one tile. */
  cutFrame(config: Sa2vaConfig, frame: RgbImage): CutPicture;
  /**
   * Tokens of one tile before the projector, [planes, tokens, C]: one plane for the language model's input, and one for
   * each layer that adds visual tokens. Frozen. Owned by the caller.
   */
  encode(weights: Weights, config: Sa2vaConfig, tile: RgbImage): Paced<Tensor>;
  /**
   * Visual tokens in the language model's width D, differentiable in the projector: [tiles, tokens, planes · D], the
   * planes of a token side by side.
   * @param vision results of `encode`, tile after tile, [tiles · planes, tokens, C]
   */
  project(weights: Weights, config: Sa2vaConfig, vision: Tensor): Tensor;
  /** The configuration with the limits that pictures of these sizes reach, for plans. @param pictures at least one */
  reached(config: Sa2vaConfig, pictures: readonly PictureSize[]): Sa2vaConfig;
  /** Operations of the tower over one tile of the largest grid. */
  work(config: Sa2vaConfig): number;
  sizes(config: Sa2vaConfig): TileSizes;
  /** Where the settings of config.json differ from what the published code does with pictures; undefined if nowhere. */
  note(config: Sa2vaConfig): string | undefined;
  /** Whether a tensor belongs to the tower. */
  isTower(name: string): boolean;
}
