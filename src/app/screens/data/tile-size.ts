export type TileSize = "s" | "m" | "l";

/** Minimum width of a tile and height of its text, in CSS pixels. */
export const TILE_SIZES: Readonly<Record<TileSize, { readonly width: number; readonly words: number }>> = {
  s: { width: 104, words: 0 },
  m: { width: 164, words: 66 },
  l: { width: 296, words: 82 },
};
