/** The code of the plug-ins' mask policies, by their names. */
import type { LabConfig } from "../engine/config/table.ts";
import type { MaskPolicy } from "../engine/policy/mask/mask-policy.ts";
import type { PluginMaskPolicy } from "./list.ts";
import { maskPolicies } from "./mask-policies/policies.ts";

export const PLUGIN_MASK_POLICIES: Readonly<Record<PluginMaskPolicy["value"], (config: LabConfig) => MaskPolicy>> = {
  ...maskPolicies,
};
