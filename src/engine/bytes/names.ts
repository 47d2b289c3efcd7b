/** Readable and unique file names. */
import { markUnseen } from "../errors.ts";

/** Makes names unique: the second `a.arrow` becomes `a-2.arrow`, the second `train` becomes `train-2`. */
export function distinctNames(): (wanted: string) => string {
  const given = new Set<string>();
  return (wanted) => {
    const name = markUnseen(wanted);
    // The extension starts at the last dot of the last part, unless the part begins with it.
    const dot = name.lastIndexOf(".");
    const cut = dot > name.lastIndexOf("/") + 1 ? dot : name.length;
    let distinct = name;
    for (let n = 2; given.has(distinct); n++) distinct = `${name.slice(0, cut)}-${n}${name.slice(cut)}`;
    given.add(distinct);
    return distinct;
  };
}
