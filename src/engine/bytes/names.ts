/** Names of files as a person can read them, and told apart. */
import { markUnseen } from "../errors.ts";

/** Gives names that were not given before: the second `a.arrow` becomes `a-2.arrow`, the second `train` `train-2`. */
export function distinctNames(): (wanted: string) => string {
  const given = new Set<string>();
  return (wanted) => {
    const name = markUnseen(wanted);
    // An extension is what follows the last dot of the last part, unless that begins the part.
    const dot = name.lastIndexOf(".");
    const cut = dot > name.lastIndexOf("/") + 1 ? dot : name.length;
    let distinct = name;
    for (let n = 2; given.has(distinct); n++) distinct = `${name.slice(0, cut)}-${n}${name.slice(cut)}`;
    given.add(distinct);
    return distinct;
  };
}
