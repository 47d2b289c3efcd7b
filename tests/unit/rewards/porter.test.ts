import { expect, test } from "vitest";
import { porterStem } from "../../../src/engine/rewards/meteor/meteor.ts";

test.each([
  // The table, and that it is asked before lower-casing.
  ["skies", "sky"],
  ["innings", "inning"],
  ["Dying", "dy"],
  // Two letters stay; four-letter -ies and -ied keep the e.
  ["is", "is"],
  ["dies", "die"],
  ["tried", "tri"],
  ["died", "die"],
  // y after a consonant that is not the first letter.
  ["enjoy", "enjoy"],
  ["happy", "happi"],
  ["by", "by"],
  ["fly", "fli"],
  // -alli first and once more through the step; -fulli; -logi with its l.
  ["rationally", "ration"],
  ["hopefully", "hope"],
  ["geology", "geolog"],
  // The short test holds for two letters: "us" keeps its e.
  ["using", "use"],
  ["hopping", "hop"],
  ["falling", "fall"],
  // Punctuation is a letter like any other.
  ["dog.", "dog."],
  ["DOGS", "dog"],
])("the stem of %s is %s", (word, stem) => {
  expect(porterStem(word)).toBe(stem);
});

test("letters are code points: a dog's picture and an s are two letters", () => {
  expect(porterStem("🐶s")).toBe("🐶s");
  expect(porterStem("🐶🐶s")).toBe("🐶🐶");
  // Doubled consonant before -ed: one whole character goes, not half of one.
  expect(porterStem("a🐶🐶ed")).toBe("a🐶");
});

test("a long run of y ends", () => {
  expect(porterStem("y".repeat(5000)).length).toBeGreaterThan(4990);
});
