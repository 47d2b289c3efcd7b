/** The repository's own files as text, for tests of how it is written. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";

export interface SourceFile {
  /** "/" separated, relative to the repository. */
  readonly path: string;
  readonly text: string;
}

/** Tracked files that are there and whose path fits. */
export function trackedFiles(fits: (path: string) => boolean): readonly SourceFile[] {
  const listed = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 });
  return listed
    .split("\0")
    .filter((path) => path !== "" && fits(path) && existsSync(join(root, path)))
    .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

export function isTypeScript(path: string): boolean {
  return /\.tsx?$/.test(path);
}

/** The code alone: comments and the contents of strings are blanked, line breaks stay. */
export function codeOf(text: string): string {
  const parts = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;
  return text.replace(parts, (part) => part.replace(/[^\n"']/g, " "));
}

/** What a file imports: paths relative to the repository, or names of packages. */
export function importsOf({ path, text }: SourceFile): readonly string[] {
  const found = text.matchAll(
    /^(?:import|export)\s[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm,
  );
  return [...found].map((match) => {
    const name = (match[1] ?? match[2] ?? match[3]) as string;
    return name.startsWith(".") ? normalize(join(dirname(path), name)).replaceAll("\\", "/") : name;
  });
}
