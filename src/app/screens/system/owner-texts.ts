import type { SystemReport } from "../../../protocol/trainer.ts";

type Owner = SystemReport["memory"]["holdings"][number]["owner"];
type Group = "model" | "run" | "kept" | "host" | "work";

export const OWNER_GROUPS: readonly { readonly id: Group; readonly title: string }[] = [
  { id: "model", title: "Model, shared by policy, partner and reference" },
  { id: "run", title: "Run" },
  { id: "kept", title: "Kept for reuse" },
  { id: "host", title: "In host memory" },
  { id: "work", title: "Under way" },
];

const frozen = (label: string): { group: Group; label: string; help: string } => ({
  group: "model",
  label,
  help: "Frozen: read by every pass, changed by none",
});

/** How an owner is called, and in one sentence what it holds. */
export const OWNER_TEXTS: Readonly<
  Record<Owner, { readonly group: Group; readonly label: string; readonly help: string }>
> = {
  "frozen vision": frozen("Vision tower"),
  "frozen projector": frozen("Projector"),
  "frozen language": frozen("Language model"),
  "frozen embedding": frozen("Embedding and head"),
  "frozen seg-prompt": frozen("[SEG] prompt"),
  "frozen sam-encoder": frozen("SAM2 image encoder"),
  "frozen mask-decoder": frozen("Mask decoder, fixed part"),
  "frozen prompt-encoder": frozen("Prompt encoder, fixed part"),
  published: {
    group: "model",
    label: "Published tensors of trained parts",
    help: "Projector, [SEG] prompt, mask decoder and prompt encoder as the checkpoint has them: where runs start from",
  },
  trained: { group: "run", label: "Trained weights θ", help: "Adapters and the parts that train; the policy" },
  partner: { group: "run", label: "Moving average φ", help: "The partner that answers in both loops" },
  start: { group: "run", label: "Weights of the start", help: "The reference of KL and anchors" },
  "first moments": { group: "run", label: "First moments", help: "AdamW's mean of gradients" },
  "second moments": { group: "run", label: "Second moments", help: "AdamW's mean of squared gradients" },
  "moment tables": {
    group: "run",
    label: "Tables of the update",
    help: "Where each trained tensor lies in the moments",
  },
  decoding: {
    group: "kept",
    label: "Buffers of generation",
    help: "Key and value caches and activations of decoding, kept from batch to batch",
  },
  pool: {
    group: "kept",
    label: "Free buffers of the pool",
    help: "Large ones are given back after every step; small ones wait for the next",
  },
  features: {
    group: "host",
    label: "Features of pictures",
    help: "Outputs of the frozen towers; the longest unused leave first",
  },
  "try-out features": { group: "host", label: "Features of try-outs", help: "Of the pictures that were asked about" },
  work: {
    group: "work",
    label: "Work of the step",
    help: "Tensors of the phase that runs now; between steps there are none",
  },
};
