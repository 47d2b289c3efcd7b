import { expect, test } from "vitest";
import type { PreparedRun } from "../../../src/engine/rl/run/start/prepare-run.ts";
import { launchRun, type RunHost } from "../../../src/engine/session/launch-run.ts";

test("a trainer that cannot be made leaves no lock, no weights and no kernel forms behind", () => {
  const freed: string[] = [];
  const free = (name: string) => () => freed.push(name);
  const set = new Map();
  const host = {
    deps: {},
    forms: { activateFor: () => free("forms") },
    model: () => {
      throw new Error("no model");
    },
  } as unknown as RunHost;
  const prepared = {
    state: { params: set, ema: set, start: set, reference: null, adam: { dispose: free("moments") } },
    release: free("lock"),
  } as unknown as PreparedRun;
  expect(() => launchRun(host, prepared, free("session"))).toThrow("no model");
  expect(freed).toEqual(["moments", "forms", "lock"]);
});
