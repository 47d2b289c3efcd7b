import { test } from "vitest";
import { followGuide } from "../../support/guide.ts";

test("docs/adding/dataset.md can be followed", () => followGuide("dataset"));
