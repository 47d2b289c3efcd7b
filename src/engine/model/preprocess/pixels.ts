/**
 * Converts bytes to the input values of both image encoders (docs/spec/sa2va.md#52-tiles-for-the-vision-tower,
 * docs/spec/sa2va.md#53-sam2-input).
 */
/** Per-channel mean and standard deviation of ImageNet, on the 0..1 scale. */
export const PIXEL_MEAN: readonly [number, number, number] = [0.485, 0.456, 0.406];
export const PIXEL_STD: readonly [number, number, number] = [0.229, 0.224, 0.225];

/**
 * (byte / 255 − mean) / std per channel.
 * @param bytes interleaved RGB, any number of pixels
 * @returns same layout
 */
export function normalisePixels(bytes: Uint8Array): Float32Array {
  const table = new Float32Array(3 * 256);
  for (let channel = 0; channel < 3; channel++) {
    for (let byte = 0; byte < 256; byte++) {
      table[channel * 256 + byte] = (byte / 255 - (PIXEL_MEAN[channel] as number)) / (PIXEL_STD[channel] as number);
    }
  }
  const values = new Float32Array(bytes.length);
  for (let at = 0; at < bytes.length; at++) values[at] = table[(at % 3) * 256 + (bytes[at] as number)] as number;
  return values;
}
