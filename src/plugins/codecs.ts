/** Compressions of buffers and pages of tables beside Snappy and gzip. */
import { codecs } from "./codecs/index.ts";
import type { Codec } from "./plugin.ts";

export const PLUGIN_CODECS: readonly Codec[] = [...codecs];
