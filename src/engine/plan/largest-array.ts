/** The largest array of a step, which a kernel binds as a whole: an adapter may limit bindings to 128 MiB. */
import { samples } from "../config/derived.ts";
import type { LabConfig } from "../config/table.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import { languageLinears } from "../model/language/language-families.ts";
import type { StorageChoice } from "../model/weights/storage-choice.ts";
import { bytesText } from "./bytes-text.ts";
import { groupShape, type RowShape, settingChanges } from "./fit.ts";

const F32 = 4;

/** A kind of array in a step. */
interface StepArray {
  readonly what: string;
  readonly bytes: number;
}

/** The kinds of array that grow with the settings, largest first. */
export function stepArrays(model: Sa2vaConfig, config: LabConfig, rows: RowShape = {}): readonly StepArray[] {
  const shape = groupShape(model, config, rows);
  const [captions, masks] = [samples(config, "text"), samples(config, "mask")];
  const together = Math.min(config.groupsAtOnce || shape.groups, shape.groups);
  const { language, sam2 } = model;
  // The widest output of a layer: the hidden units of the MLP, which some families compute together with their gate.
  const widest = Math.max(...languageLinears(language).map(({ outSize }) => outSize));
  const described = masks ? shape.described * shape.tailTokens : 0;
  const sampled = captions ? shape.rollouts * shape.newTokens : 0;
  const tokens = together * Math.max(shape.promptTokens, described, sampled);
  const cells = (sam2.imageSize / 4) ** 2;
  const prompts = Math.max(captions ? together * shape.rollouts : together, masks ? shape.tried : 0);
  const reach = shape.promptTokens + shape.newTokens;
  return [
    { what: `The MLP's hidden units of ${tokens} tokens`, bytes: F32 * tokens * widest },
    {
      what: "SAM2's finest maps of the pictures decoded together",
      bytes: F32 * together * shape.frames * cells * sam2.hiddenDim,
    },
    {
      what: `The mask decoder's finest maps of ${prompts} prompts`,
      bytes: F32 * prompts * shape.frames * cells * (sam2.hiddenDim / 8),
    },
    { what: `Masks of ${shape.rollouts} prompts`, bytes: F32 * shape.rollouts * sam2.imageSize ** 2 },
    {
      what: "One layer's keys of a group's rollouts",
      bytes: F32 * shape.rollouts * reach * language.kvHeads * language.headSize,
    },
  ].sort((a, b) => b.bytes - a.bytes);
}

/**
 * A sentence about the largest array, with the mildest single change that makes all fit, if an adapter cannot bind it;
 * null otherwise.
 * @param binding maximum bytes of a binding
 */
export function bindingProblem(
  model: Sa2vaConfig,
  config: LabConfig,
  choice: StorageChoice,
  binding: number,
  rows: RowShape = {},
): string | null {
  const largest = (settings: LabConfig): StepArray => stepArrays(model, settings, rows)[0] as StepArray;
  const { what, bytes } = largest(config);
  if (bytes <= binding) return null;
  const found = settingChanges(config, choice).find(({ values }) => largest({ ...config, ...values }).bytes <= binding);
  const remedy = found === undefined ? "no single change of the sizes is enough" : `this is enough: ${found.label}`;
  return `${what} take ${bytesText(bytes)}, but this adapter binds at most ${bytesText(binding)} at once; ${remedy}`;
}
