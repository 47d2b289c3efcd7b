/** The guides fit the tree as it is, each on its own; their reader refuses a stale edit. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { appliedTo, editFile, openGuide, readGuide } from "../../support/guide.ts";
import { arePluggedIn } from "../../support/plugins.ts";

const GUIDES = readdirSync(join(root, "docs/adding")).flatMap((file) => /^(?!README)(.+)\.md$/.exec(file)?.[1] ?? []);

test.each(GUIDES.filter((name) => name !== "loop" || arePluggedIn("question-answer")))(
  "docs/adding/%s.md names three to five files, those that it changes",
  (name) => {
    const { blocks, files } = openGuide(name);
    const changed = [...appliedTo(root, { blocks }).keys()];
    expect(files.length).toBeGreaterThanOrEqual(3);
    expect(files.length).toBeLessThanOrEqual(5);
    expect(changed.filter((path) => !files.includes(path))).toEqual([]);
    expect(files.filter((path) => !changed.includes(path) && !/^docs\/\w+\.md$/.test(path))).toEqual([]);
    expect(changed.some((path) => path.endsWith(".test.ts"))).toBe(true);
  },
);

const EDIT = "  a,\n+ new,\n- old,\n  b,\n".replaceAll(/^([-+]) /gm, "$1 ");

test("a guide's blocks have a path; blocks without one are left alone", () => {
  const { blocks, files } = readGuide(
    "| file | change |\n| --- | --- |\n| `src/a.ts` | new |\n\n```ts src/a.ts\nlet a;\n```\n\n```\nnpm test\n```\n",
  );
  expect(blocks).toEqual([{ path: "src/a.ts", edit: false, text: "let a;\n" }]);
  expect(files).toEqual(["src/a.ts"]);
  expect(() => readGuide("```js src/a.js\n1\n```\n")).toThrow(/must be ts or diff/);
});

test("an edit replaces its old lines, which must be in the file once", () => {
  const block = { path: "list.ts", edit: true, text: EDIT };
  expect(editFile("[\n a,\n old,\n b,\n]\n", block)).toBe("[\n a,\n new,\n b,\n]\n");
  expect(() => editFile("[\n a,\n b,\n]\n", block)).toThrow(
    /list\.ts: the old lines of an edit are in the file 0 times/,
  );
  expect(() => editFile(" a,\n old,\n b,\n a,\n old,\n b,\n", block)).toThrow(/2 times/);
});
