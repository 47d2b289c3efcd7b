import { test } from "vitest";
import { followGuide } from "../../support/guide.ts";

test("docs/adding/mask-policy.md can be followed", () => followGuide("mask-policy"));
