/** A full collection, to tell what is held from what has not been swept yet. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let collect: (() => void) | undefined;

/** Collects until now, twice: finalisers of the first round free what the second finds. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = (globalThis.gc as (() => void) | undefined) ?? (runInNewContext("gc") as () => void);
  }
  collect();
  collect();
}
