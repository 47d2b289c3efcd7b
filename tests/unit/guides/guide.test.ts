/** The reader of guides: what it accepts as a block, and that a stale edit is refused. */
import { expect, test } from "vitest";
import { editFile, readGuide } from "../../support/guide.ts";

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
