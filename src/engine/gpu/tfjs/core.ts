/**
 * Bundles use this file as "@tensorflow/tfjs": the core with its gradients. Layers, converters and unused backends
 * would double each worker's script. Unbundled code in Node uses the whole package, because it cannot load the
 * gradients alone.
 */
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";

export * from "@tensorflow/tfjs-core";
