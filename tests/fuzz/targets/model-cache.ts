/** Stored conversions: either read exactly as written, or refused and removed. */
import { sha256Hex } from "../../../src/engine/bytes/hash.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { blockBytes } from "../../../src/engine/gpu/packed/storage.ts";
import { ModelCache } from "../../../src/engine/loading/model-cache.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage, LINE_DAMAGE } from "../json.ts";
import { check, type Target } from "../target.ts";
import { intoStore, storeFiles } from "../valid.ts";

const KEY = { source: "ab", choice: { language: "q8", towers: "f16" }, blockElements: 64 } as const;
const values = (seed: number, length: number) => Float32Array.from({ length }, (_, at) => (at + seed) / 7);

const whole = memoryStore();
const cache = new ModelCache(whole, 64);
const config = new TextEncoder().encode('{"model_type":"sa2va_chat"}');
const writer = await cache.write(KEY, "tiny", 1000, memoryFolder({ "config.json": config }));
const shapes = { "a.weight": [4, 6], "b.bias": [5], "c.weight": [2, 3, 2] } as const;
for (const [name, shape] of Object.entries(shapes)) {
  const length = shape.reduce<number>((product, side) => product * side, 1);
  await writer.add({ kind: "tensor", name, shape, values: values(length, length) });
}
const sizes = blockBytes("q8", 8, 4);
const packed = {
  values: new Uint32Array(sizes.values / 4).fill(7),
  scales: new Uint32Array(sizes.scales / 4).fill(9),
  unit: 1,
};
await writer.add({ kind: "rows", name: "d.weight", shape: [4, 8], storage: "q8", first: 0, rows: 4, packed });
await writer.finish("0");
const files = await storeFiles(whole);

export const modelCache: Target = {
  ...casesOf({ entry: files }, (path) =>
    path.endsWith(".jsonl") ? LINE_DAMAGE : path.endsWith(".json") ? jsonDamage() : undefined,
  ),
  async read(damaged) {
    const store = memoryStore();
    await intoStore(store, damaged);
    const own = new ModelCache(store, 64);
    for (const { originalBytes, bytes, name, blockElements } of await own.list()) {
      check(
        [originalBytes, bytes, blockElements].every((size) => Number.isFinite(size) && size >= 0),
        "sizes that are none",
      );
      check(typeof name === "string", "a name that is no text");
    }
    const found = await own.find(KEY);
    if (found === undefined) return;
    await own.files(found.id);
    if (!found.finished) return;
    const names: string[] = [];
    for await (const piece of own.pieces(found.id, found.name)) {
      names.push(piece.name);
      if (piece.kind === "rows") {
        check(String(piece.packed.values) === String(packed.values), "packed rows with other values");
        continue;
      }
      const shape = shapes[piece.name as keyof typeof shapes];
      check(String(piece.shape) === String(shape), `${piece.name} is [${piece.shape}]`);
      const length = piece.shape.reduce((product, side) => product * side, 1);
      check(String(piece.values) === String(values(length, length)), `${piece.name} has other values`);
    }
    check(String(names) === String([...Object.keys(shapes), "d.weight"]), `pieces ${names}`);
    // Continuing an entry must not fail on it either.
    await own.write(KEY, "tiny", 1000, memoryFolder({ "config.json": config }));
    check((await sha256Hex(config)).length === 64, "no hash");
  },
};
