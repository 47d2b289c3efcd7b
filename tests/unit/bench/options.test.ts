/** The bench's command line, and the models it writes for onnxruntime-web. */
import { describe, expect, it } from "vitest";
import { inputName, onnxModel } from "../../../bench/baselines/onnx.ts";
import { descendants } from "../../../bench/tool/browser-clock.ts";
import { toolOptions } from "../../../bench/tool/options.ts";

describe("arguments", () => {
  it("have defaults", () => {
    expect(toolOptions([])).toEqual({
      suite: "kernels",
      where: "node",
      rounds: 5,
      budget: 420,
      steps: 500,
      only: "",
      jax: true,
      ort: true,
      card: false,
      processorTime: false,
      json: false,
      write: false,
    });
  });

  it("are read, and each suite has a time of its own", () => {
    const words = "--suite kernels --chromium --rounds 2 --only group --no-jax --no-ort --processor-time --json";
    expect(toolOptions(words.split(" "))).toMatchObject({
      suite: "kernels",
      where: "chromium",
      rounds: 2,
      budget: 420,
      only: "group",
      jax: false,
      ort: false,
      processorTime: true,
      json: true,
    });
    expect(toolOptions(["--suite", "decode"]).budget).toBe(180);
    expect(toolOptions(["--suite", "step", "--budget", "30", "--where", "chromium"])).toMatchObject({
      budget: 30,
      where: "chromium",
    });
  });

  it.each([
    ["--suite ui", /--suite must be one of kernels, decode, step, meteor, memory, not "ui"/],
    ["--where moon", /--where must be one of node, chromium/],
    ["--chromium --where node", /contradict/],
    ["--suite memory --chromium", /--chromium has no effect on suite memory/],
    ["--suite memory --rounds 2", /--rounds has no effect on suite memory/],
    ["--suite meteor --steps 3", /--steps has no effect on suite meteor/],
    ["--suite meteor --write", /--write has no effect on suite meteor/],
    ["--steps 3", /--steps has no effect on suite kernels/],
    ["--suite decode --only greedy", /--only has no effect on suite decode/],
    ["--suite step --no-ort", /--no-ort has no effect on suite step/],
    ["--write --only matmul", /--write needs a whole suite/],
    ["--write --card", /--write stores results of the adapter in use/],
    ["--suite step --card", /--card has no effect on suite step/],
    ["--budget 0", /--budget must be a whole number from 1/],
    ["--rounds two", /--rounds must be a whole number/],
    ["--fast", /Unknown argument/],
  ])("%s is a mistake with a sentence", (words, sentence) => {
    expect(() => toolOptions(words.split(" "))).toThrow(sentence);
  });
});

describe("a model of one operator", () => {
  const text = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

  it("is written field by field", () => {
    const model = onnxModel({ type: "Gelu" }, [{ shape: [2, 300], dtype: "float32" }]);
    // Format 10, then the graph: node with input, output, operator and domain; name; input [2, 300]; output.
    const node = "\x0a\x02x0\x12\x01y\x22\x04Gelu\x3a\x00";
    expect(text(model)).toContain(`\x0a\x0f${node}\x12\x05bench`);
    expect(text(model).startsWith("\x08\x0a\x3a")).toBe(true);
    expect(text(model)).toContain("\x0a\x02\x08\x02\x0a\x03\x08\xac\x02");
  });

  it("leaves names of inputs empty that are not given, and keeps the place of the others", () => {
    const shape = { shape: [1], dtype: "int32" } as const;
    const model = text(
      onnxModel({ type: "Op", domain: "com.microsoft", ints: { axis: -1, pads: [1, 2] } }, [null, shape]),
    );
    expect(model).toContain(`\x0a\x00\x0a\x02${inputName(1)}`);
    expect(model).not.toContain(inputName(0));
    expect(model).toContain("com.microsoft");
    // A negative number takes ten bytes.
    expect(model).toContain(`axis\x18${"\xff".repeat(9)}\x01\xa0\x01\x02`);
    expect(model).toContain("pads\x40\x01\x40\x02\xa0\x01\x07");
  });
});

describe("processes of a browser", () => {
  it("are those below ours", () => {
    expect(descendants(2 ** 30)).toEqual([]);
    expect(descendants(process.pid)).not.toContain(process.pid);
  });
});
