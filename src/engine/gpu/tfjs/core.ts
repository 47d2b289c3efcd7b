/** TensorFlow.js as the lab uses it: the core with its gradients, without layers, converters and other backends. */
export * from "@tensorflow/tfjs-core";

import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
