import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { HANG, WAIT } from "./tests/support/hang.ts";

/** A safety net for hangs only: no test result depends on the machine's speed or load. */
const limits = { testTimeout: HANG, hookTimeout: HANG, teardownTimeout: HANG, expect: { poll: { timeout: WAIT } } };

/**
 * Files at once. One more than the number of processors took a tenth more time on software adapters, which use all of
 * them.
 */
const maxWorkers = Math.min(availableParallelism(), 4);

/**
 * Three kinds of test: plain Node, Node with a Vulkan device, and a real browser. Files of the first kind share the
 * modules of their process, which takes a third less time; a device keeps state between tests, so files of the others
 * do not.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...limits,
          name: "unit",
          maxWorkers,
          include: ["tests/{unit,policy,golden,fuzz,isa}/**/*.test.ts"],
          environment: "node",
          isolate: false,
        },
      },
      {
        test: {
          ...limits,
          name: "gpu",
          // llvmpipe compiles vectors of four lanes in a third of the time of eight, and most of the time of these
          // tests is compiling.
          env: { LP_NATIVE_VECTOR_WIDTH: process.env.LP_NATIVE_VECTOR_WIDTH ?? "128" },
          include: ["tests/gpu/**/*.test.ts", "tests/kill/{node,every-call}.test.ts"],
          globalSetup: "./tests/support/shared-folder.ts",
          environment: "node",
          maxWorkers,
          pool: "forks",
        },
      },
      {
        // The built page in a real Chromium, driven from Node.
        test: {
          ...limits,
          name: "browser",
          include: ["tests/browser/**/*.test.ts", "tests/kill/{browser,opfs-model}.test.ts"],
          environment: "node",
          globalSetup: "./tests/support/build-page.ts",
          runner: "./tests/support/page-runner.ts",
          maxWorkers,
          pool: "forks",
        },
      },
    ],
  },
});
