/**
 * Splits of files by their names, with the words of the `datasets` library and of RefCOCO. Where a directory has files of the training
 * split, its files of other splits are not trained on.
 */
const WORDS: Readonly<Record<string, readonly string[]>> = {
  train: ["train", "training"],
  validation: ["validation", "valid", "val", "dev"],
  test: ["test", "testing", "eval", "evaluation"],
  testA: ["testa"],
  testB: ["testb"],
};
/** A word of a split between separators; digits separate too, as in `val2017`. */
const NAMED = new RegExp(`(?<=^|[^a-z])(${Object.values(WORDS).flat().join("|")})(?=$|[^a-z])`, "gi");

const splitOfWord = (word: string): string | undefined =>
  Object.keys(WORDS).find((split) => WORDS[split]?.includes(word.toLowerCase()));

/** The split that a path names last; undefined for none. */
export function namedSplit(path: string): string | undefined {
  return placeOf(path)?.split;
}

/** The named split, and the directory with the name; words of splits in its own name do not count. */
function placeOf(path: string): { readonly split: string; readonly directory: string } | undefined {
  const last = [...path.matchAll(NAMED)].at(-1);
  const split = splitOfWord(last?.[0] ?? "");
  if (last === undefined || split === undefined) return undefined;
  return { split, directory: path.slice(0, path.lastIndexOf("/", last.index) + 1).replace(NAMED, "*") };
}

/**
 * Files to leave out: they name another split than the wanted one, of which the same directory has files.
 * @param wanted name of the wanted split
 * @returns the split of each by its path
 */
export function otherSplits(paths: readonly string[], wanted: string): ReadonlyMap<string, string> {
  const split = splitOfWord(wanted);
  const places = paths.flatMap((path) => {
    const place = placeOf(path);
    return place === undefined ? [] : [{ path, ...place }];
  });
  const complete = new Set(places.filter((place) => place.split === split).map(({ directory }) => directory));
  const others = places.filter((place) => place.split !== split && complete.has(place.directory));
  return new Map(others.map((place) => [place.path, place.split]));
}
