/**
 * Normalised sine position embedding of SAM2's neck (docs/spec/sa2va.md#13-sam2-image-encoder). The image path does
 * not use it; memory
 * attention over video frames does.
 * @param channels multiple of 4: the first half encodes y, the second x
 * @returns [channels, height, width], sines and cosines interleaved
 */
export function sinePositions(channels: number, height: number, width: number): Float32Array {
  const half = channels / 2;
  const out = new Float32Array(channels * height * width);
  for (let channel = 0; channel < channels; channel++) {
    const index = channel % half;
    const period = 10000 ** ((2 * Math.floor(index / 2)) / half);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const part = channel < half ? (y + 1) / (height + 1e-6) : (x + 1) / (width + 1e-6);
        const angle = (part * 2 * Math.PI) / period;
        out[(channel * height + y) * width + x] = index % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
      }
    }
  }
  return out;
}
