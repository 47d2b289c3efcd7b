/** The model that WebLLM runs in a tab. Only one at a time, because two would need twice the memory during training. */

/** Small enough to share a GPU with training, large enough to follow a JSON format. */
export const WEBLLM_DEFAULT = "Qwen2.5-1.5B-Instruct-q4f16_1-MLC";

/** The model for a setting. @param name a name in WebLLM's list; blank for the default */
export function webllmModel(name: string): string {
  return name.trim() || WEBLLM_DEFAULT;
}
