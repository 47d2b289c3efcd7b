/** Help for writing a custom reward. */

import { LOOP_IDS } from "../../engine/rl/loops/abouts.ts";

/** A first function that shows the available input. */
export const EXAMPLE_REWARD = `// Called once per rollout; returns a finite number. Types are stripped, nothing outside can be reached.
function reward(rollout: Rollout): number {
  const words = rollout.caption.split(/\\s+/).filter(Boolean);
  const iou = rollout.iou?.value ?? 0;
  // Pays overlap, and a little for words that the reference has too.
  const known = new Set(rollout.reference.toLowerCase().split(/\\s+/));
  const shared = words.filter((word) => known.has(word.toLowerCase())).length;
  return iou + 0.1 * (words.length === 0 ? 0 : shared / words.length);
}
`;

/** The input of a custom reward, as TypeScript for display. */
export const ROLLOUT_TYPES = `interface Rollout {
  loop: ${LOOP_IDS.join(" | ")};
  caption: string;          // generated text, "" when there is none
  reference: string;        // the data set's caption
  given: Mask | null;       // the data set's mask
  predicted: Mask | null;   // mask′ of the partner, or the policy's mask
  confidence: number | null; // mean probability inside the predicted mask
  truncated: boolean;       // cut off at the length limit
  iou: { value: number; intersection: number; union: number } | null;
  meteor: {
    score: number; precision: number; recall: number; fMean: number; penalty: number; chunks: number;
    matches: [number, number, "exact" | "stem" | "synonym"][]; // word of caption, word of reference
    hypothesis: string[]; reference: string[];
  } | null;
  terms: Record<string, number | null>; // every term's raw value
  group: { index: number; size: number; captions: string[] };
}
interface Mask {
  height: number; width: number; area: number;
  box: [x: number, y: number, width: number, height: number];
  pixels: Uint8Array;       // 0 or 1, row by row
  has(x: number, y: number): boolean;
}`;
