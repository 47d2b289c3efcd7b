import { join } from "node:path";
import { build } from "vite";
import { expect, test } from "vitest";
import { NOTICES_FILE, noticesText, thirdPartyNotices } from "../../../scripts/lib/build/third-party-notices.ts";
import { root } from "../../../scripts/lib/ensure.mjs";

test("notices hold name, version and licence text of each package, sorted by name", () => {
  const text = noticesText(["uplot", "@huggingface/tokenizers"].map((name) => join(root, "node_modules", name)));
  expect(text).toMatch(/^@huggingface\/tokenizers \d+\.\d+\.\d+ \(Apache-2\.0\)\n\n=+\n\n\s*Apache License/);
  expect(text).toMatch(/\nuplot \d+\.\d+\.\d+ \(MIT\)\n\n=+\n\n[\s\S]*Permission is hereby granted/);
});

test("a build lists what it includes and nothing else", async () => {
  const entry = "\0entry";
  const { output } = (await build({
    configFile: false,
    root,
    logLevel: "silent",
    build: { write: false, rollupOptions: { input: "entry" } },
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? entry : undefined),
        load: (id) => (id === entry ? 'import { unzipSync } from "fflate"; console.log(unzipSync);' : undefined),
      },
      thirdPartyNotices().page,
    ],
  })) as { readonly output: readonly { readonly fileName: string; readonly source?: unknown }[] };
  const notices = String(output.find(({ fileName }) => fileName === NOTICES_FILE)?.source);
  expect(notices).toContain("fflate 0.");
  expect(notices).not.toContain("react");
});
