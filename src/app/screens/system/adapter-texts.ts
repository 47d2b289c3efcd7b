/** Features that the lab requests, and their use. */
export const FEATURES: readonly { readonly name: string; readonly help: string }[] = [
  { name: "shader-f16", help: "half-precision arithmetic in shaders" },
  { name: "subgroups", help: "exchange of values between threads without memory" },
  { name: "timestamp-query", help: "GPU time per phase" },
];

/** Limits that affect memory and the choice of kernels. */
export const LIMITS: readonly { readonly name: string; readonly label: string; readonly bytes?: true }[] = [
  { name: "maxBufferSize", label: "Largest buffer", bytes: true },
  { name: "maxStorageBufferBindingSize", label: "Largest binding", bytes: true },
  { name: "maxStorageBuffersPerShaderStage", label: "Buffers per program" },
  { name: "maxComputeWorkgroupStorageSize", label: "Workgroup memory", bytes: true },
  { name: "maxComputeInvocationsPerWorkgroup", label: "Threads per workgroup" },
  { name: "maxComputeWorkgroupsPerDimension", label: "Workgroups per dimension" },
];
