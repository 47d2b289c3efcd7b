/** Licences of the packages in the built page, collected from the modules that the bundler includes. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Plugin } from "vite";

export const NOTICES_FILE = "third-party-notices.txt";

interface PackageFile {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
}

/** The folder of the package that a module belongs to, or undefined for modules of this project. */
function packageFolder(id: string): string | undefined {
  const path = id.replace(/^\0/, "").split("?")[0] as string;
  if (!path.includes("/node_modules/")) return undefined;
  for (let folder = dirname(path); !folder.endsWith("/node_modules"); folder = dirname(folder)) {
    const file = join(folder, "package.json");
    if (existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as PackageFile).version !== undefined)
      return folder;
    if (folder === dirname(folder)) return undefined;
  }
  return undefined;
}

/**
 * Text of the notices: name, version, licence, and the licence files of each package.
 * @param folders package folders, absolute
 */
export function noticesText(folders: Iterable<string>): string {
  const entries = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageFile;
    const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
    const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
    return { title: `${name} ${version} (${license ?? "licence in the text below"})`, texts };
  });
  return entries
    .sort((a, b) => a.title.localeCompare(b.title, "en"))
    .map(({ title, texts }) => [title, "=".repeat(title.length), ...texts].join("\n\n"))
    .join("\n\n\n")
    .concat("\n");
}

/** Two plugins that share one list: `worker` goes into the workers' build, `page` into the page's, which writes the file. */
export function thirdPartyNotices(): { readonly worker: Plugin; readonly page: Plugin } {
  const folders = new Set<string>();
  const collect = (
    bundle: Readonly<Record<string, { readonly type: string; readonly moduleIds?: readonly string[] }>>,
  ) => {
    for (const output of Object.values(bundle)) {
      for (const id of output.moduleIds ?? []) {
        const folder = packageFolder(id);
        if (folder !== undefined) folders.add(folder);
      }
    }
  };
  return {
    worker: { name: "third-party-notices-worker", generateBundle: (_, bundle) => collect(bundle) },
    page: {
      name: "third-party-notices",
      apply: "build",
      generateBundle(_, bundle) {
        collect(bundle);
        this.emitFile({ type: "asset", fileName: NOTICES_FILE, source: noticesText(folders) });
      },
    },
  };
}
