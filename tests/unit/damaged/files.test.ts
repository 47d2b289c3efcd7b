/** Whatever is wrong with a file, its reader says so in a sentence: nothing else is thrown, nothing hangs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/memory.ts";
import { isBinaryCell } from "../../../src/engine/data/arrow-cells.ts";
import { openArrow } from "../../../src/engine/data/arrow-table.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { decodeRle } from "../../../src/engine/data/rle.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { openSafetensors } from "../../../src/engine/model/safetensors.ts";
import { importRollouts } from "../../../src/engine/runs/import-rollouts.ts";
import { groupsFromArrow, groupsToArrow } from "../../../src/engine/runs/rollouts-arrow.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
import { forAny } from "../../support/any.ts";
import { DAMAGES, damaged, fine } from "../../support/mutate.ts";
import { group } from "../runs/sample-run.ts";

const read = (...path: string[]): Uint8Array => new Uint8Array(readFileSync(join(root, ...path)));
const fixture = (path: string): Uint8Array => read("tests", "fixtures", ...path.split("/"));
const pocket = (name: string): Uint8Array => read("public", "pocket", "model", name);

it.each([
  "data/save-to-disk/data-00000-of-00002.arrow",
  "data/pyarrow/file-None.arrow",
  "data/pyarrow/file-zstd.arrow",
  "data/pyarrow/stream-lz4.arrow",
  "data/pyarrow/delta.arrow",
  "data/pyarrow/legacy.arrow",
  "data/pyarrow/sliced.arrow",
  "photographs/data-00000-of-00001.arrow",
])("shards: %s", async (path) => {
  const whole = fixture(path);
  const good = fixture("data/save-to-disk/data-00001-of-00002.arrow");
  const alone = (await openRegionSet(memoryFolder({ "good.arrow": good }))).summaries.length;
  await forAny(200, DAMAGES, async (damages) => {
    const bytes = damaged(whole, damages);
    // The damage of one file costs nothing of another.
    const set = await openRegionSet(memoryFolder({ "bad.arrow": bytes, "good.arrow": good }));
    expect(set.summaries.filter(({ file }) => file === "good.arrow")).toHaveLength(alone);
    for (const at of set.summaries.keys()) {
      const sample = await fine(() => set.sample(at));
      if (sample !== undefined) await fine(() => decodeRle(sample.mask));
    }
    const table = await fine(() => openArrow(memorySource("bad.arrow", bytes)));
    for (let column = 0; column < (table?.columns.length ?? 0); column++) {
      for (let row = 0; row < Math.min(table?.rows ?? 0, 20); row++) {
        const cell = await fine(() => table?.cell(column, row));
        if (isBinaryCell(cell)) await fine(() => cell.read());
      }
    }
  });
});

it("weights", async () => {
  const tensors = { a: ["F32", [2, 3], 24], b: ["BF16", [4], 8], c: ["F16", [], 2] } as const;
  let end = 0;
  const entries = Object.entries(tensors).map(([name, [dtype, shape, bytes]]) => {
    end += bytes;
    return [name, { dtype, shape, data_offsets: [end - bytes, end] }] as const;
  });
  const header = new TextEncoder().encode(
    JSON.stringify({ __metadata__: { format: "pt" }, ...Object.fromEntries(entries) }),
  );
  const small = new Uint8Array(8 + header.length + end);
  new DataView(small.buffer).setBigUint64(0, BigInt(header.length), true);
  small.set(header, 8);
  expect((await openSafetensors(memorySource("m.safetensors", small))).names).toEqual(["a", "b", "c"]);
  // The header of many names, and what follows cut off, which every reading must notice.
  for (const whole of [small, pocket("model.safetensors").slice(0, 60_000)]) {
    await forAny(300, DAMAGES, async (damages) => {
      const file = await fine(() => openSafetensors(memorySource("m.safetensors", damaged(whole, damages))));
      for (const name of file?.names ?? []) await fine(() => file?.read(name));
    });
  }
});

const SLOW = ["tokenizer.model", "tokenizer_config.json"];
const FAST = ["tokenizer.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"];

it.each([
  ["internlm2-bpe", SLOW],
  ["internlm2-unigram", SLOW],
  ["llama-legacy", SLOW],
  ["llama-fast", FAST],
  ["pocket", FAST],
])("tokenizers: %s", async (name, names) => {
  const from = name === "pocket" ? pocket : (file: string) => fixture(`text/${name}/${file}`);
  const files = Object.fromEntries(names.map((file) => [file, from(file)]));
  await forAny(200, fc.tuple(fc.constantFrom(...names), DAMAGES), async ([which, damages]) => {
    const folder = memoryFolder({ ...files, [which]: damaged(files[which] as Uint8Array, damages) });
    const tokenizer = await fine(() => openTokenizer(folder));
    if (tokenizer !== undefined) await fine(() => tokenizer.decode(tokenizer.encode("a red car <image> [SEG] ▁ü")));
  });
});

it("configurations with any value in any place", async () => {
  const config: unknown = JSON.parse(new TextDecoder().decode(pocket("config.json")));
  const paths: string[][] = [];
  const walk = (value: unknown, path: string[]): void => {
    paths.push(path);
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) walk(inner, [...path, key]);
  };
  walk(config, []);
  const odd = fc.constantFrom<unknown>(null, 0, -1, 0.5, 1e9, 2 ** 53, Number.MAX_VALUE, "", "x", true, [], {}, [1, 2]);
  await forAny(1000, fc.tuple(fc.constantFrom(...paths), fc.oneof(odd, fc.anything())), async ([path, value]) => {
    const set = (node: unknown, [key, ...rest]: readonly string[]): unknown =>
      key === undefined ? value : { ...(node as object), [key]: set((node as Record<string, unknown>)[key], rest) };
    await fine(() => parseSa2vaConfig(set(config, path)));
  });
});

it("rollouts", async () => {
  const arrow = groupsToArrow([group(1, 1, 0), group(1, 2, 1)]);
  const lines = new TextEncoder().encode(
    `${JSON.stringify({ completion: "a red car", reference: "the car", loop: 1, group: "g" })}\n`.repeat(3),
  );
  await forAny(300, DAMAGES, async (damages) => {
    await fine(() => groupsFromArrow(damaged(arrow, damages), "1.arrow"));
    await fine(() => importRollouts(damaged(arrow, damages), "1.arrow"));
    await fine(() => importRollouts(damaged(lines, damages), "x.jsonl"));
  });
});
