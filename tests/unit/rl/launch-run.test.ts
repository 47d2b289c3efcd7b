import { expect, test } from "vitest";
import type { Lab } from "../../../src/engine/rl/run/lab.ts";
import type { PreparedRun } from "../../../src/engine/rl/run/start/prepare-run.ts";
import { launchRun, type RunOwner } from "../../../src/engine/session/launch-run.ts";

test("a trainer that cannot be made leaves no lock, no weights and no kernel forms behind", () => {
  const freed: string[] = [];
  const free = (name: string) => () => freed.push(name);
  const set = new Map();
  const owner = { forms: { activateFor: () => free("forms") } } as unknown as RunOwner;
  const lab = {
    get model() {
      throw new Error("no model");
    },
  } as unknown as Lab;
  const prepared = {
    state: { params: set, ema: set, start: set, reference: null, adam: { dispose: free("moments") } },
    release: free("lock"),
  } as unknown as PreparedRun;
  expect(() => launchRun(owner, lab, prepared, free("session"))).toThrow("no model");
  expect(freed).toEqual(["moments", "forms", "lock"]);
});
