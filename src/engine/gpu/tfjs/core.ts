/**
 * What bundles take for "@tensorflow/tfjs": the core with its gradients. Layers, converters and the backends that the lab
 * does not use would double each worker's script. Unbundled, Node takes the whole package: it cannot load the gradients
 * by themselves.
 */
import "@tensorflow/tfjs-core/dist/register_all_gradients";
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";

export * from "@tensorflow/tfjs-core";
