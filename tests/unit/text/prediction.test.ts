import { expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { prediction } from "../../../src/engine/text/template.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";

test("a prediction keeps special tokens and loses what Python calls white space at its ends", async () => {
  const tokenizer = await openTokenizer(await nodeFolder("tests/golden/sa2va-tiny-qwen2"));
  const said = (text: string): string => prediction(tokenizer, tokenizer.encode(text));
  expect(said(" a [SEG] b<|im_end|>\n")).toBe("a [SEG] b<|im_end|>");
  expect(said("\u001c\u001d\u001e\u001f\u0085\u00a0\u3000x\u001d y\u001f")).toBe("x\u001d y");
  expect(said("\u0015x\u001b\u200b")).toBe("\u0015x\u001b\u200b");
  expect(said("\ufeffx")).toBe("\ufeffx");
  expect(said("\u001d \n")).toBe("");
});
