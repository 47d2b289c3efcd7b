/** The one place TensorFlow.js enters the engine, so that version and build are chosen once. */
import * as tf from "#tensorflow";

export { tf };
export type Tensor = tf.Tensor;
