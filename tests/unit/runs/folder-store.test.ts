import { expect, it } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { folderStore } from "../../../src/engine/storage/store.ts";

it("reads runs of a folder as a store does, and refuses to change them", async () => {
  const store = folderStore(
    memoryFolder({ "a/run.json": "{}", "a/rollouts/step-000001.arrow": "xyz", "b/run.json": "[]" }),
  );
  expect(await store.readText("a/run.json")).toBe("{}");
  expect(await store.size("a/rollouts/step-000001.arrow")).toBe(3);
  expect(await store.size("a/none")).toBeNull();
  expect((await store.list("a")).map((file) => file.path)).toEqual(["a/rollouts/step-000001.arrow", "a/run.json"]);
  await expect(store.read("a/none")).rejects.toThrow(
    /^a\/none is missing among the stored runs; other files are kept$/,
  );
  // Without its manifest a run is missing, not one of its files.
  await expect(store.read("c/run.json")).rejects.toThrow(/^Run "c" is not stored here: it was deleted, or it/);
  // One after another: a promise that is refused before anybody waits for it fails the whole run.
  for (const change of [() => store.write("a/run.json", ""), () => store.append("a/x", ""), () => store.remove("a")]) {
    await expect(change()).rejects.toThrow(/recorded run, which cannot be changed/);
  }
});
