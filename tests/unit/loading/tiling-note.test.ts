import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type ByteFolder, memoryFolder } from "../../../src/engine/bytes/source.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { openModelFolder } from "../../../src/engine/loading/open-model.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

/** What loading says of the model with these fields in config.json. */
async function noteWith(changes: Readonly<Record<string, unknown>>): Promise<string | undefined> {
  const folder = await nodeFolder(GOLDEN);
  const source = folder.get("config.json");
  const json = JSON.parse(new TextDecoder().decode(await source?.read(0, source.size))) as object;
  const changed = memoryFolder({ "config.json": JSON.stringify({ ...json, ...changes }) });
  const mixed: ByteFolder = { paths: folder.paths, get: (path) => changed.get(path) ?? folder.get(path) };
  const { model, note } = await openModelFolder(mixed, "tiny");
  model.dispose();
  return note;
}

test("a limit of tiles other than the published code's is said when the model is loaded", async () => {
  expect(await noteWith({ max_dynamic_patch: 12 })).toBeUndefined();
  expect(await noteWith({ max_dynamic_patch: undefined })).toBeUndefined();
  expect(await noteWith({ max_dynamic_patch: 6 })).toMatch(/max_dynamic_patch 6, which is followed.* 1 to 12 tiles/);
  expect(await noteWith({ max_dynamic_patch: 16 })).toMatch(/max_dynamic_patch 16/);
  expect(await noteWith({ dynamic_image_size: false })).toMatch(/dynamic_image_size false/);
  const published = { max_dynamic_patch: 12 };
  expect(await noteWith({ ...published, use_thumbnail: false })).toMatch(/sets use_thumbnail false, which/);
  expect(await noteWith({ ...published, min_dynamic_patch: 2, use_thumbnail: false })).toMatch(
    /sets min_dynamic_patch 2, use_thumbnail false, which/,
  );
});
