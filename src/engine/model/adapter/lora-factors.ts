/**
 * Low-rank adapters of the language model: shapes, initial values and names
 * (docs/spec/sa2va.md#18-supervised-training-recipe).
 */
import { LabError } from "../../errors.ts";
import type { LanguageConfig } from "../config.ts";
import { languageLinears } from "../language/language-shapes.ts";

/** A tensor in host memory. */
export interface HostTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array<ArrayBuffer>;
}

export interface LoraShape {
  /** Full path, e.g. `language_model.model.layers.0.self_attn.q_proj.lora_A.weight`. */
  readonly name: string;
  readonly shape: readonly [number, number];
  readonly factor: "A" | "B";
}

/**
 * A [r, in] and B [out, r] of every linear layer of the language model except the head, in the order of the forward
 * pass.
 */
export function loraShapes(config: LanguageConfig, rank: number): LoraShape[] {
  if (!Number.isInteger(rank) || rank < 1) {
    throw new LabError("bad-config", `The rank of the adapter is ${rank}, it must be a whole number of at least 1`, {
      subject: "lora rank",
    });
  }
  return languageLinears(config).flatMap(({ path, inSize, outSize }): LoraShape[] => [
    { name: `${path}.lora_A.weight`, shape: [rank, inSize], factor: "A" },
    { name: `${path}.lora_B.weight`, shape: [outSize, rank], factor: "B" },
  ]);
}

/**
 * Initial factors as in PEFT: A uniform in ±1/√in, B zero, so that the adapter initially changes nothing.
 * @param uniform number in (0, 1) for the n-th tensor of `loraShapes` and an element of it
 */
export function initLora(
  config: LanguageConfig,
  rank: number,
  uniform: (tensor: number, element: number) => number,
): HostTensor[] {
  return loraShapes(config, rank).map(({ name, shape, factor }, tensor) => {
    const values = new Float32Array(shape[0] * shape[1]);
    if (factor === "A") {
      const bound = 1 / Math.sqrt(shape[1]);
      for (let at = 0; at < values.length; at++) values[at] = (2 * uniform(tensor, at) - 1) * bound;
    }
    return { name, shape, values };
  });
}
