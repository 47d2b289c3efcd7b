/** Description of a loop for settings, records, metrics and the page; its code is in the same folder. */
export interface LoopAbout<Id extends number = number> {
  /** Number in settings, metrics, records and random draws; never reused. */
  readonly id: Id;
  /** Input, the policy's output, and the partner's output. */
  readonly arrow: string;
  /** The policy's part of the arrow. */
  readonly task: string;
  /** Why the reward teaches anything, in one sentence for a newcomer. */
  readonly why?: string;
  /** What the policy samples. */
  readonly samples: "text" | "mask";
  /** Who predicts the mask of a rollout; null if the reward needs no mask. */
  readonly mask: "policy" | "partner" | null;
  /** Field of a rollout that holds the rewarded text. */
  readonly text: "caption" | "captionPrime";
  /** Name of that text. */
  readonly textName: string;
  /** Whether the prompt differs from row to row, so that rollouts show it. */
  readonly promptOfRow?: true;
  /** Whether "both loops" excludes this loop while its weight has its default, 0. */
  readonly optional?: true;
  /** Score of held-out rows that every run has, whatever its reward; without it only the run's reward is scored. */
  readonly heldOut?: "IoU" | "METEOR";
  /** Default weights of reward terms; 0 for the others. */
  readonly terms: Readonly<Record<string, number>>;
  /** Weights of reward terms in the named reward matrices, and their description in the matrix's summary. */
  readonly matrices?: Readonly<Record<string, { readonly terms: LoopAbout["terms"]; readonly text?: string }>>;
  /** Settings with which the pocket model trains this loop together with the others. */
  readonly pocket?: LoopValues;
  /** Further settings of the demo. */
  readonly demo?: LoopValues;
  /** Presets that train the pocket model on this loop alone. */
  readonly presets?: readonly LoopPreset[];
}

/** A preset that trains the pocket model. */
export interface LoopPreset {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly evidence?: string;
  /** As in a preset of `config/presets.ts`. */
  readonly pocketModel?: string;
  readonly demoSet?: DemoSet;
  readonly more?: true;
  /** Differences from `pocket`. */
  readonly values?: LoopValues;
}

/** Rows that come with the page. */
export interface DemoSet {
  /** On the button that opens them; absent where another set has the same rows. */
  readonly name?: string;
  /** Path below public. */
  readonly rows: string;
}

/** Values of settings; tests/unit/config/config.test.ts validates those of all presets. */
type LoopValues = Readonly<Record<string, number | string>>;
