/** Which model WebLLM runs in a tab: one at a time, for two would need twice the memory beside the training. */

/** Small enough to share a GPU with training, large enough to keep to a JSON form. */
export const WEBLLM_DEFAULT = "Qwen2.5-1.5B-Instruct-q4f16_1-MLC";

/** The model that a setting means. @param name a name of WebLLM's list; blank for the default */
export function webllmModel(name: string): string {
  return name.trim() || WEBLLM_DEFAULT;
}
