/** Which tests of a browser file run after one has failed, with Vitest itself on two small files. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";

interface Report {
  readonly testResults: readonly {
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

it("tests that share a page with a failed one are skipped, and so is their set-up", () => {
  const folder = join(root, "tests", "fixtures", "page-runner");
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("VITEST")));
  const { stdout } = spawnSync(process.execPath, [vitest, "run", "--root", folder, "--reporter", "json"], {
    encoding: "utf8",
    env,
  });
  const { testResults } = JSON.parse(stdout) as Report;
  const states = testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ fullName, status }) => [fullName, status] as const),
  );
  expect(Object.fromEntries(states)).toEqual({
    "first passes": "passed",
    "first fails": "failed",
    "first depends on it": "skipped",
    "second depends on it too": "skipped",
    "first page opens": "failed",
    "first page is used": "skipped",
    "second page opens": "passed",
    "second page is used": "passed",
  });
  // The last hook of one-page.test.ts throws where the set-up of its second group ran.
  expect(testResults.map(({ message }) => message)).toEqual(["", ""]);
});
