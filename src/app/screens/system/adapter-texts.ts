/** Features the lab asks for, and what they are good for. */
export const FEATURES: readonly { readonly name: string; readonly help: string }[] = [
  { name: "shader-f16", help: "half-precision numbers in programs" },
  { name: "subgroups", help: "lanes hand values to each other without memory" },
  { name: "timestamp-query", help: "time on the GPU, phase by phase" },
];

/** Limits that decide what fits and which program runs. */
export const LIMITS: readonly { readonly name: string; readonly label: string; readonly bytes?: true }[] = [
  { name: "maxBufferSize", label: "Largest buffer", bytes: true },
  { name: "maxStorageBufferBindingSize", label: "Largest binding", bytes: true },
  { name: "maxStorageBuffersPerShaderStage", label: "Buffers of a program" },
  { name: "maxComputeWorkgroupStorageSize", label: "Memory of a workgroup", bytes: true },
  { name: "maxComputeInvocationsPerWorkgroup", label: "Threads of a workgroup" },
  { name: "maxComputeWorkgroupsPerDimension", label: "Workgroups in one direction" },
];
