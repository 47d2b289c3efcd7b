/** Description of a loop for settings, records, metrics and the page; its code is in the same folder. */
export interface LoopAbout<Id extends number = number> {
  /** Number in settings, metrics, records and random draws; never reused. */
  readonly id: Id;
  /** Input, the policy's output, and the partner's output. */
  readonly arrow: string;
  /** The policy's part of the arrow. */
  readonly task: string;
  /** What the policy samples. */
  readonly samples: "text" | "mask";
  /** Whose mask a rollout has; null where the reward needs none. */
  readonly mask: "policy" | "partner" | null;
  /** Field of a rollout with the generated text that is rewarded. */
  readonly text: "caption" | "captionPrime";
  /** Name of that text. */
  readonly textName: string;
  /** Whether the prompt differs from row to row, so that it is shown with a rollout. */
  readonly promptOfRow?: true;
  /** Whether "both loops" excludes it while its weight is 0, its default. */
  readonly optional?: true;
  /** Score of held-out rows that every run has, whatever its reward; without it only the run's reward is scored. */
  readonly heldOut?: "IoU" | "METEOR";
  /** Default weights of reward terms; 0 for the others. */
  readonly terms: Readonly<Record<string, number>>;
  /** Weights of reward terms in the named reward matrices, and what the matrix's summary says of them. */
  readonly matrices?: Readonly<Record<string, { readonly terms: LoopAbout["terms"]; readonly text?: string }>>;
  /** Settings with which the pocket model trains the loop beside the others. */
  readonly pocket?: LoopValues;
  /** What the demo adds to them. */
  readonly demo?: LoopValues;
  /** What the preset for the demo clips adds to them. */
  readonly clips?: LoopValues;
  /** The preset that trains the pocket model on the loop alone: its texts, and what differs from `pocket`. */
  readonly alone?: { readonly summary: string; readonly evidence?: string; readonly values?: LoopValues };
}

/** Values of settings; tests/unit/config/config.test.ts validates those of all presets. */
export type LoopValues = Readonly<Record<string, number | string>>;
