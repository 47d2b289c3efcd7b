/** A full garbage collection, to distinguish memory in use from memory not yet collected. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

let collect: (() => void) | undefined;

/** Collects twice: finalisers of the first collection free what the second one finds. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = (globalThis.gc as (() => void) | undefined) ?? (runInNewContext("gc") as () => void);
  }
  collect();
  collect();
}
