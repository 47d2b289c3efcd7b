import { type Tensor, tf } from "../../../gpu/tf.ts";

/** Logit that an object keeps at most where another one claims the pixel. */
const TAKEN = -10;

/**
 * Every pixel left to the object with the largest logit; for showing masklets side by side, off in Sa2VA
 * (docs/spec/video.md#8-post-processing).
 * @param logits [B, h, w]
 * @returns the same shape, owned by the caller or its tidy
 */
export function withoutOverlap(logits: Tensor): Tensor {
  return tf.tidy(() => {
    const owner = logits.argMax(0).expandDims(0);
    const objects = tf.range(0, logits.shape[0] as number, 1, "int32").reshape([-1, 1, 1]);
    return tf.where(owner.equal(objects), logits, logits.minimum(TAKEN));
  });
}
