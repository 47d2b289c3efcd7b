/** Runner of the browser tests: tests that share a page depend on each other, so after a failed one the later ones are skipped. */
import { type RunnerTask, type RunnerTestCase, type RunnerTestSuite, TestRunner } from "vitest";

/** The outermost suite that has set-up: the file, or a describe that opens a page of its own. */
function sharedBy(task: RunnerTask): RunnerTestSuite | undefined {
  let shared: RunnerTestSuite | undefined;
  for (let suite = task.suite ?? task.file; suite !== undefined; suite = suite.suite ?? suite.file) {
    if (TestRunner.getSuiteHooks(suite).beforeAll.length > 0) shared = suite;
    if (suite === suite.file) break;
  }
  return shared;
}

/** The first failed test of a suite, or the suite itself where its set-up failed. */
function failure(task: RunnerTask): RunnerTask | undefined {
  const inner = task.type === "suite" ? task.tasks.map(failure).find((found) => found !== undefined) : undefined;
  return inner ?? (task.result?.state === "fail" ? task : undefined);
}

/**
 * Without this each later action of each dependent test waits until WAIT ends for something that the failed test left
 * undone.
 */
export default class PageRunner extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    await super.onBeforeRunSuite(suite);
    const shared = sharedBy(suite);
    // Its tests are skipped one by one; its set-up would wait as they would.
    if (shared === undefined || failure(shared) === undefined) return;
    const { beforeAll, afterAll } = TestRunner.getSuiteHooks(suite);
    beforeAll.length = 0;
    afterAll.length = 0;
  }

  override onBeforeTryTask(test: RunnerTestCase): void {
    super.onBeforeTryTask(test);
    const shared = sharedBy(test);
    const failed = shared && failure(shared);
    if (failed !== undefined) test.context.skip(`not run, since it shares a page with a failed test: ${failed.name}`);
  }
}
