/** Documents that are generated from tables, files and measurements. */
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { dispatchPage, type StepFacts } from "../../../bench/tool/dispatch-page.ts";
import { type TableFacts, tablesPage } from "../../../bench/tool/tables.ts";
import { root } from "../ensure.mjs";
import { SNAPSHOTS, wgslSnapshots } from "../isa/snapshots.ts";
import { metricsPage } from "./metric-doc.ts";
import { settingsModule, settingsPage } from "./settings-doc.ts";
import { sizePage } from "./size-doc.ts";

export interface GeneratedDoc {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

/** The current text of all generated documents. */
export async function generatedDocs(): Promise<readonly GeneratedDoc[]> {
  return [
    { path: "docs/settings.md", text: settingsPage() },
    { path: "python/sa2va_lab/table.py", text: settingsModule(await usedInPython()) },
    { path: "docs/metrics.md", text: metricsPage() },
    { path: "docs/size.md", text: sizePage() },
    { path: "docs/performance/dispatches.md", text: dispatchPage(await stepAt1B()) },
    { path: "docs/performance/tables.md", text: tablesPage(await benchResults()) },
    ...wgslSnapshots(),
  ];
}

/** Snapshots on disk of programs that no longer exist. */
export async function staleSnapshots(docs: readonly GeneratedDoc[]): Promise<readonly string[]> {
  const current = new Set(docs.map(({ path }) => path));
  const files = await readdir(join(root, SNAPSHOTS)).catch(() => []);
  return files.map((file) => `${SNAPSHOTS}/${file}`).filter((path) => !current.has(path));
}

/** Writes all generated documents, and removes stale snapshots. @returns paths of those that changed */
export async function writeGeneratedDocs(): Promise<readonly string[]> {
  const docs = await generatedDocs();
  const changed: string[] = [...(await staleSnapshots(docs))];
  for (const path of changed) await rm(join(root, path));
  await mkdir(join(root, SNAPSHOTS), { recursive: true });
  for (const { path, text } of docs) {
    const file = join(root, path);
    const before = await readFile(file, "utf8").catch(() => null);
    if (before === text) continue;
    await writeFile(file, text);
    changed.push(path);
  }
  return changed;
}

/** Settings that the Python package reads. */
async function usedInPython(): Promise<readonly string[]> {
  const text = await readFile(join(root, "python/sa2va_lab/settings.json"), "utf8");
  return (JSON.parse(text) as { readonly used: readonly string[] }).used;
}

/** Names and texts of a folder's files, sorted. */
async function filesOf(folder: string, name: RegExp): Promise<readonly (readonly [string, string])[]> {
  const names = (await readdir(join(root, folder))).filter((file) => name.test(file)).sort();
  return Promise.all(names.map(async (file) => [file, await readFile(join(root, folder, file), "utf8")] as const));
}

async function benchResults(): Promise<readonly TableFacts[]> {
  return (await filesOf("docs/performance", /^(kernels|decode|step)-.*\.json$/)).map(
    ([, text]) => JSON.parse(text) as TableFacts,
  );
}

/** Results stored by `npm run step-1b -- --write`; null if there are none. */
async function stepAt1B(): Promise<StepFacts | null> {
  const [found] = await filesOf("docs/performance", /^1b-step\.json$/);
  return found === undefined ? null : (JSON.parse(found[1]) as StepFacts);
}
