/**
 * An alias for bundles that need only the core of TensorFlow.js and its gradients (see src/engine/gpu/tfjs/core.ts).
 */
import { fileURLToPath } from "node:url";

export const CORE_ONLY = {
  find: /^@tensorflow\/tfjs$/,
  replacement: fileURLToPath(new URL("../../../src/engine/gpu/tfjs/core.ts", import.meta.url)),
};
