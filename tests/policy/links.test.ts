/** Citations of documents lead to a heading that exists, in code and in documents. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { trackedFiles } from "../support/sources.ts";

const files = trackedFiles((path) => /\.(?:tsx?|mjs|py|md|css|html)$/.test(path) && !path.startsWith("tests/golden/"));

/** Anchors of a Markdown file, as GitHub makes them from headings. */
function anchorsOf(path: string): ReadonlySet<string> {
  const withoutCode = readFileSync(join(root, path), "utf8").replace(/^```[\s\S]*?^```/gm, "");
  const headings = [...withoutCode.matchAll(/^#+ (.+)$/gm)].map((found) => found[1] as string);
  return new Set(
    headings.map((heading) =>
      heading
        .trim()
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_\- ]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

/** The fault of a link, or undefined. */
function broken(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(root, path))) return `${path} does not exist`;
  if (anchor === undefined || !path.endsWith(".md")) return undefined;
  return anchorsOf(path).has(anchor) ? undefined : `${path} has no heading #${anchor}`;
}

describe("links to documents", () => {
  it("are found at all", () => {
    expect(files.length).toBeGreaterThan(500);
    expect(anchorsOf("docs/spec/grpo.md")).toContain("5-kl-to-the-reference");
    expect(broken("docs/spec/grpo.md", "no-such-heading")).toBeDefined();
    expect(broken("no-such-page.md", undefined)).toBeDefined();
  });

  it("from code name a file and a heading that exist", () => {
    const wrong = files
      .filter(({ path }) => !path.endsWith(".md"))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/\bdocs\/[\w/-]+\.md(?:#([\w-]+))?/g)].flatMap(([link, anchor]) => {
          const problem = broken((link as string).split("#")[0] as string, anchor);
          return problem === undefined ? [] : [`${path}: ${problem}`];
        }),
      );
    expect(wrong).toEqual([]);
  });

  it("from Markdown lead somewhere", () => {
    const wrong = files
      .filter(({ path }) => path.endsWith(".md"))
      .flatMap(({ path, text }) =>
        [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
          ([, target, anchor]) => {
            const to = target === "" ? path : normalize(join(dirname(path), target as string));
            const problem = broken(to, anchor);
            return problem === undefined ? [] : [`${path}: ${problem}`];
          },
        ),
      );
    expect(wrong).toEqual([]);
  });

  it("of tests and sources in decisions, architecture and guides name files that exist", () => {
    const rooms = readdirSync(join(root, "src/engine"));
    const wrong = files
      .filter(({ path }) => /^docs\/(?:decisions|adding|architecture)/.test(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/`([\w-]+)\/([\w./-]+)`/g)].flatMap(([, first, rest]) => {
          const inside = rooms.includes(first as string) ? join("src/engine", first as string) : first;
          // Guides name files that they make; their own test covers those.
          const checked = inside !== first || (path === "docs/decisions.md" && first === "tests");
          const problem = checked ? broken(join(inside as string, rest as string), undefined) : undefined;
          return problem === undefined ? [] : [`${path}: ${problem}`];
        }),
      );
    expect(wrong).toEqual([]);
  });
});
