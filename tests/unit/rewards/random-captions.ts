/** Words that go every way through METEOR: inflected, irregular, synonyms of each other, punctuated, odd. */
const WORDS = (
  "a the dog dogs dog. hound car auto cars automobile man men woman women child children big large bigger biggest " +
  "run running ran runs sofa couch couches rock stone stones stony glad happy happily happiness leaf leaves leave " +
  "knife knives box boxes church churches fly flies flying tie tying ties lying lie skies sky better good well best " +
  "oxen ox axes axis ax mice mouse geese goose teeth tooth sat sit sitting sits mat rug near close closer closest " +
  "red reddish crimson african African 1 one 4 four u.s. ice_cream icecream ice_creams computer_graphics bow_legs " +
  "café naïve straße 🐶 🐶s half-dozen 'hood s ss as is was us glasses spectacles trousers pant bath bathtub news " +
  "building buildings build paintings paint drawings draw meetings wedding weddings crossings cross " +
  "generally generic organization organs relational adjustable adjustment rationally hopefully geology"
).split(" ");

/** Pairs of captions of 0 to 12 words, always the same for a seed. Half of the pairs share words. */
export function randomCaptions(seed: number, count: number): [string, string][] {
  let state = seed >>> 0;
  const next = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const words = (): string[] => Array.from({ length: next(13) }, () => WORDS[next(WORDS.length)] as string);
  return Array.from({ length: count }, () => {
    const reference = words();
    const hypothesis = words().map((word) => (next(2) === 0 ? (reference[next(reference.length)] ?? word) : word));
    return [reference.join(" "), hypothesis.join(" ")];
  });
}
