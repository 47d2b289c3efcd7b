/** The headers of the built page, for its own server and for hosts that read a file of headers. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { resolveConfig } from "vite";
import { expect, test } from "vitest";
import { headersFile, pageHeaders } from "../../../scripts/lib/build/content-policy.ts";
import { root } from "../../../scripts/lib/ensure.mjs";

test("the file for hosts names the headers that the preview server sends", async () => {
  const { preview } = await resolveConfig({ root, logLevel: "silent" }, "build");
  expect(preview.headers).toEqual(pageHeaders(false));
  expect(readFileSync(join(root, "public/_headers"), "utf8")).toBe(headersFile());
  const lines = headersFile().split("\n");
  // Every file, because a worker's policy comes with its own.
  expect(lines[0]).toBe("/*");
  const sent = lines.slice(1, -1).map((line) => /^ {2}([\w-]+): (.+)$/.exec(line)?.slice(1) ?? []);
  expect(Object.fromEntries(sent)).toEqual(preview.headers);
});
