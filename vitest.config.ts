import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { HANG, WAIT } from "./tests/support/hang.ts";

/** A safety net for hangs only: no verdict depends on how fast or how busy the machine is. */
const limits = { testTimeout: HANG, hookTimeout: HANG, teardownTimeout: HANG, expect: { poll: { timeout: WAIT } } };

/** Three kinds of test: plain Node, Node with a Vulkan device (one at a time), and a real browser. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...limits,
          name: "unit",
          // Vitest leaves one processor free, which on two processors leaves one.
          maxWorkers: availableParallelism(),
          include: ["tests/{unit,policy,golden,fuzz}/**/*.test.ts"],
          environment: "node",
        },
      },
      {
        test: {
          ...limits,
          name: "gpu",
          include: ["tests/gpu/**/*.test.ts", "tests/kill/node.test.ts"],
          environment: "node",
          fileParallelism: false,
          pool: "forks",
        },
      },
      {
        // The built page in a real Chromium, driven from Node: one file, so one browser, at a time.
        test: {
          ...limits,
          name: "browser",
          include: ["tests/browser/**/*.test.ts", "tests/kill/browser.test.ts"],
          environment: "node",
          fileParallelism: false,
          pool: "forks",
        },
      },
    ],
  },
});
