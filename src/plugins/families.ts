/** The code of the plug-ins' families of vision towers, by the name that their configuration gives. */
import type { VisionFamily } from "../engine/model/families/family.ts";
import { qwenVl } from "./qwen-vl/family.ts";

export const PLUGIN_FAMILIES: Readonly<Record<string, VisionFamily>> = { "qwen-vl": qwenVl };
