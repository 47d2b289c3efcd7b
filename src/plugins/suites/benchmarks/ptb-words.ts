/**
 * Words of `ptb-tokens.ts`: abbreviations that keep their full stop, and words that begin a sentence after a single
 * letter.
 */

/** Abbreviations in any case. */
const ANY = `adj adm adv ala al apr ariz assn assoc atty aug ave bancorp bhd bldg blvd brig bros calif capt cf cie cmdr co col
colo conn corp cos cpl ct dak dec dept det dr drs ens esq est etc ext feb fla fri ft ga gen gov govs hon inc ind insp intl jan
jos jr jul jun kan ky lieut lt ltd maj mar md messrs mfg mich minn mlle mme mo mon mont mr mrs ms mt mtg natl neb nev nov oct
okla penn pfc ph plc prof profs pte pty pvt rd rep reps rev rt sen sens sep sept seq sfc sgt spc sq sr st ste supt sys tel tenn
thu thurs tue tues univ va vs vt wed wis wm wyo`;

/** Abbreviations with a capital: states, which are words otherwise. */
const CAPITAL = "Ark Az Del Ill La Mass Ore Pa Tex Wash Miss";

/** Abbreviations with or without an initial capital, but not in all capitals. */
const LOWER_OR_CAPITAL = "asst elec pres treas";

const STARTS = `A About According Additionally After An As At But Earlier He Her Here However If In It Last Many More Mr\\. Ms\\. Now
Once One Other Our She Since So Some Such That The Their Then There These They This We What When While Yet You`;

const list = (words: string): string[] => words.split(/\s+/);
const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** Alternatives of a pattern. */
export const ABBREVIATION = [
  ...list(ANY).flatMap((word) => [word, capital(word), word.toUpperCase()]),
  ...list(CAPITAL).flatMap((word) => [word, word.toUpperCase()]),
  ...list(LOWER_OR_CAPITAL).flatMap((word) => [word, capital(word)]),
].join("|");

/** Abbreviations before a number only. */
export const NUMBER_ABBREVIATION = list("art ca fig figs no nos op pp prop")
  .flatMap((word) => [word, capital(word)])
  .join("|");

/** Words that begin a sentence even after a single letter with a full stop. */
export const SENTENCE_STARTS = list(STARTS).join("|");
