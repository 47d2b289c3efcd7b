/** The targets by name, each loaded on first use. */
import type { Target } from "../target.ts";

export const TARGETS = {
  arrow: async () => (await import("./arrow.ts")).arrow,
  parquet: async () => (await import("./arrow.ts")).parquet,
  pickle: async () => (await import("./forms.ts")).pickle,
  tar: async () => (await import("./forms.ts")).tar,
  "zip-data": async () => (await import("./forms.ts")).zipData,
  annotations: async () => (await import("./forms.ts")).annotations,
  clips: async () => (await import("./clips.ts")).clips,
  "clip-rows": async () => (await import("./clip-rows.ts")).clipRows,
  safetensors: async () => (await import("./safetensors.ts")).safetensors,
  rle: async () => (await import("./rle.ts")).rle,
  rollouts: async () => (await import("./rollouts.ts")).rollouts,
  run: async () => (await import("./run.ts")).run,
  checkpoint: async () => (await import("./checkpoint.ts")).checkpoint,
  zip: async () => (await import("./zip.ts")).zip,
  tokenizer: async () => (await import("./tokenizer.ts")).tokenizer,
  config: async () => (await import("./config.ts")).config,
  settings: async () => (await import("./settings.ts")).settings,
  address: async () => (await import("./address.ts")).address,
  "model-cache": async () => (await import("./model-cache.ts")).modelCache,
  judge: async () => (await import("./judge.ts")).judge,
  adapter: async () => (await import("./adapter.ts")).adapter,
} satisfies Readonly<Record<string, () => Promise<Target>>>;

export type TargetName = keyof typeof TARGETS;

export const TARGET_NAMES = Object.keys(TARGETS) as readonly TargetName[];
