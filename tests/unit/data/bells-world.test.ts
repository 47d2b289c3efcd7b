/** The world "bells": a kind of object that training only names, and rows in which its attributes distinguish it. */
import { expect, it } from "vitest";
import { sceneDice } from "../../../tools/pocket/world/dice.ts";
import { BELL, COLOURS } from "../../../tools/pocket/world/kinds.ts";
import { GRID } from "../../../tools/pocket/world/model-files.ts";
import { cellWords, pocketPicture } from "../../../tools/pocket/world/samples.ts";
import { drawScene } from "../../../tools/pocket/world/scene.ts";

const pictures = Array.from({ length: 60 }, (_, index) => pocketPicture(7, index, 3, 64, { bells: true }));

it("trains on bells in every other picture and says nothing of them but what they are", () => {
  const shown = pictures.map(({ scene }) => scene.things.filter(({ kind }) => kind === BELL).length);
  expect(shown).toEqual(pictures.map((_, index) => index % 2));
  const texts = pictures.flatMap(({ regions }) => regions.flatMap(({ caption, phrase }) => [caption, phrase]));
  expect([...new Set(texts.filter((text) => text.includes("bell")))].sort()).toEqual(["a bell", "the bell"]);
  expect(texts.filter((text) => /red|blue/.test(text)).length).toBeGreaterThan(20);
  const named = pictures.flatMap(({ regions }) =>
    regions.flatMap(({ words = [] }) => (words.includes("bell") ? [words] : [])),
  );
  expect(new Set(named.map((words) => words.join(" ")))).toEqual(new Set(["bell"]));
});

it("names the tokens that a bell covers without its colour", () => {
  const cells = pictures.flatMap((picture) => cellWords(picture, GRID)).filter((words) => words.includes("bell"));
  expect(cells.length).toBeGreaterThan(50);
  expect(cells.flat().filter((word) => word in COLOURS || word === "small" || word === "large")).toEqual([]);
});

it("draws rows with two or three bells, and leaves the scenes of other worlds as they are", () => {
  const scene = drawScene(sceneDice(53, 1), { kind: BELL, alike: 3 });
  expect(scene.things.filter(({ kind }) => kind === BELL)).toHaveLength(3);
  const plain = Array.from({ length: 60 }, (_, index) => pocketPicture(7, index, 3, 64));
  expect(plain.flatMap(({ scene }) => scene.things).some(({ kind }) => kind >= BELL)).toBe(false);
});
