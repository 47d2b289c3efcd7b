import { test } from "vitest";
import { followGuide } from "../../support/guide.ts";

test("docs/adding/kernel.md can be followed", () => followGuide("kernel"));
