/** Folders that are served with the page list their files as they are: a wrong size cuts a file off when it is read. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";

const POCKET = join(root, "public", "pocket");
const folders = readdirSync(POCKET).filter((name) => readdirSync(join(POCKET, name)).includes("files.json"));

it("are found", () => {
  expect(folders).toContain("recorded");
});

it.each(folders)("%s lists every file with its size", (folder) => {
  const listed: { readonly path: string; readonly size: number }[] = JSON.parse(
    readFileSync(join(POCKET, folder, "files.json"), "utf8"),
  );
  expect(listed.length).toBeGreaterThan(0);
  const found = listed.map(({ path }) => ({ path, size: statSync(join(POCKET, folder, path)).size }));
  expect(listed.map(({ path, size }) => ({ path, size }))).toEqual(found);
});
