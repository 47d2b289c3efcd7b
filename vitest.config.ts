import { defineConfig } from "vitest/config";

/** Tests of cases drawn at random take longer when more are asked for (tests/support/any.ts). */
const longer = Math.max(1, Number(process.env.LAB_RUNS ?? 1));

/** Three kinds of test: plain Node, Node with a Vulkan device (one at a time), and a real browser. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["tests/{unit,policy,golden}/**/*.test.ts"],
          environment: "node",
          testTimeout: 60_000 * longer,
        },
      },
      {
        test: {
          name: "gpu",
          include: ["tests/gpu/**/*.test.ts"],
          environment: "node",
          fileParallelism: false,
          pool: "forks",
          testTimeout: 240_000 * longer,
          hookTimeout: 120_000,
        },
      },
      {
        // The built page in a real Chromium, driven from Node: one file, so one browser, at a time.
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          environment: "node",
          fileParallelism: false,
          pool: "forks",
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
