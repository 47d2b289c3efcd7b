/** What everyone may know of a loop: settings, records, metrics and the page read it; its code is beside it. */
export interface LoopAbout<Id extends number = number> {
  /** Number in settings, metrics, records and random draws; never reused. */
  readonly id: Id;
  /** What goes in, what the policy makes of it, and what the partner makes of that. */
  readonly arrow: string;
  /** The policy's half of the arrow. */
  readonly task: string;
  /** What the policy samples. */
  readonly samples: "text" | "mask";
  /** Whose mask a rollout has; null where the reward needs none. */
  readonly mask: "policy" | "partner" | null;
  /** Field of a rollout with the text that was generated and is rewarded. */
  readonly text: "caption" | "captionPrime";
  /** What that text is called. */
  readonly textName: string;
  /** Whether the prompt differs from row to row, so that it is shown with a rollout. */
  readonly promptOfRow?: true;
  /** Whether "both loops" leaves it out while its weight is 0, its default. */
  readonly optional?: true;
  /** Score of held-out rows that every run has, whatever it is rewarded for; without it only the run's reward is scored. */
  readonly heldOut?: "IoU" | "METEOR";
  /** Weights of reward terms by default; 0 for the others. */
  readonly terms: Readonly<Record<string, number>>;
}
