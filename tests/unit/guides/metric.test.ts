import { test } from "vitest";
import { followGuide } from "../../support/guide.ts";

test("docs/adding/metric.md can be followed", () => followGuide("metric"));
