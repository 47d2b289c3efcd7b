/** What bundles take for "@tensorflow/tfjs": its core and gradients alone, half of the script that the whole package makes. */
import { fileURLToPath } from "node:url";

export const CORE_ONLY = {
  find: /^@tensorflow\/tfjs$/,
  replacement: fileURLToPath(new URL("../../src/engine/gpu/tfjs/core.ts", import.meta.url)),
};
