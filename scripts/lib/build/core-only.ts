/** An alias for bundles: of TensorFlow.js they take the core and its gradients alone (src/engine/gpu/tfjs/core.ts says why). */
import { fileURLToPath } from "node:url";

export const CORE_ONLY = {
  find: /^@tensorflow\/tfjs$/,
  replacement: fileURLToPath(new URL("../../../src/engine/gpu/tfjs/core.ts", import.meta.url)),
};
