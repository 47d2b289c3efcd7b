import type { SystemReport } from "../../../engine/session/memory-report.ts";

type Owner = SystemReport["memory"]["owners"][number]["owner"];
type Group = "model" | "run" | "kept" | "host" | "work";

export const OWNER_GROUPS: readonly { readonly id: Group; readonly title: string }[] = [
  { id: "model", title: "Model, shared by policy, partner and reference" },
  { id: "run", title: "Run" },
  { id: "kept", title: "Kept for reuse" },
  { id: "host", title: "In host memory" },
  { id: "work", title: "In use" },
];

const frozen = (label: string): { group: Group; label: string; help: string } => ({
  group: "model",
  label,
  help: "Frozen weights, which training does not change",
});

/** Name of an owner, and one sentence about its contents. */
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
    help: "Projector, [SEG] prompt, mask decoder and prompt encoder of the checkpoint: the starting point of runs",
  },
  trained: { group: "run", label: "Trained weights θ", help: "Adapters and the other trained tensors: the policy" },
  partner: { group: "run", label: "Moving average φ", help: "The partner of both loops" },
  start: { group: "run", label: "Starting weights", help: "Reference for KL and anchors" },
  captioner: { group: "run", label: "Other checkpoint", help: "Captioner that scores likelihoods" },
  reference: { group: "run", label: "Synchronised reference", help: "Reference for KL that follows the policy" },
  "first moments": { group: "run", label: "First moments", help: "AdamW's mean of gradients" },
  "second moments": { group: "run", label: "Second moments", help: "AdamW's mean of squared gradients" },
  "moment tables": {
    group: "run",
    label: "Update tables",
    help: "Offsets of the trained tensors in the moments",
  },
  decoding: {
    group: "kept",
    label: "Generation buffers",
    help: "Key-value caches and activations of decoding, reused between batches",
  },
  pool: {
    group: "kept",
    label: "Free pool buffers",
    help: "Large buffers are released after every step; small ones are reused",
  },
  features: {
    group: "host",
    label: "Picture features",
    help: "Outputs of the frozen towers; the least recently used are dropped first",
  },
  "try-out features": {
    group: "host",
    label: "Try-out features",
    help: "Outputs of the frozen towers for pictures of try-outs",
  },
  work: {
    group: "work",
    label: "Tensors of the step",
    help: "Tensors of the current phase; none between steps",
  },
};
