/** Clean-up of region captions before they are scored; the name of the rule belongs beside the number. */
import { pythonStrip, pythonWords } from "../../bytes/python-space.ts";

/**
 * - `glamm`: tags, `[SEG]`, white space and outer quotes go. What this lab uses.
 * - `sa2va-later`: also every full stop and colon.
 * - `sa2va-released`: also the words the model was trained to begin with, and every "is", inside words as well.
 */
export type RegionCleaner = "glamm" | "sa2va-later" | "sa2va-released";

/** A region caption as the named evaluation script passes it on. */
export function cleanRegionCaption(text: string, rule: RegionCleaner): string {
  const line = text.replaceAll("<s>", "").replaceAll("\n", "");
  const bare = tidy(line.replace(/<[^\n]*?>/g, "").replaceAll("[SEG]", ""));
  if (rule === "glamm") return bare;
  if (rule === "sa2va-later") return tidy(bare.replace(/[.:]/g, " "));
  const shortened = bare.replace(/The region marked (?:by|as)/g, "").replace(/region1|shows|is|:/gi, (found) =>
    // Only "region1" has a form with a capital.
    /^(?:Region1|region1|shows|is|:)$/.test(found) ? "" : found,
  );
  return tidy(shortened);
}

/** A text with single blanks and without outer quotes. */
export function tidy(text: string): string {
  return pythonStrip(
    pythonWords(text)
      .join(" ")
      .replace(/^'+|'+$/g, ""),
  );
}
