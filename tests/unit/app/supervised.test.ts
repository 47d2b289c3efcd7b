/** The page of a supervised run. */
import { expect, it } from "vitest";
import { overviewOf } from "../../../src/app/screens/train/overview.ts";

it("shows where gradients are clipped", () => {
  expect(overviewOf("sft", 2).find(({ id }) => id === "gradient")?.levels).toHaveLength(1);
});
