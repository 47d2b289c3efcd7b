/** How the config.json of the plug-ins' families of vision towers is read. */
import type { FamilyReader } from "../engine/model/families/family-config.ts";
import { QWEN_VL } from "./qwen-vl/config.ts";

export const PLUGIN_FAMILY_READERS: readonly FamilyReader[] = [QWEN_VL];
