/** COCO run-length masks: the public module of the codec. */
export { type MaskIou, maskIou, maskIouCrowd, mergeRles } from "./rle-compare.ts";
export { decodeRle, encodeRle, rleArea, rleBox, rleIsEmpty } from "./rle-mask.ts";
export { rleFromBox, rleFromPolygons } from "./rle-polygon.ts";
export { canonicalRuns, checkMaskSize, MAX_MASK_PIXELS, parseRle, type Rle, rleFromRuns, rleRuns } from "./rle-runs.ts";
