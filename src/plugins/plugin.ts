/** What a plug-in adds to the tables of the core. Its code is in the lists beside this file, by the place that runs it. */
import type { LoopAbout } from "../engine/rl/loops/about.ts";

export interface Plugin {
  /** Name of its folder. */
  readonly name: string;
  /** Its loops; their code is in `loops.ts`. */
  readonly loops?: readonly LoopAbout[];
  /** Display names of its exports of a run; their code is in `exports.ts`. */
  readonly exports?: Readonly<Record<string, string>>;
}
