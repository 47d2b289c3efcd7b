/** Exports of the complete run into a folder on disk, ended or failed at every call: an export is whole or not there. */
import { join } from "node:path";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import { adapterFiles } from "../../../src/engine/export/adapter.ts";
import { readTrained } from "../../../src/engine/runs/checkpoint/trained.ts";
import { openRun } from "../../../src/engine/runs/run-folder.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { type Change, crashStates, type Tree } from "./changes.ts";
import { type EveryCall, isCrash, type Kind, type Point, sentence } from "./every-call.ts";
import { FILE_SYSTEMS, type FileSystemName, inMemory, refuses } from "./folders.ts";
import { ID } from "./small-run.ts";

/** Folder of the export. */
const OUT = "adapter";

/** Writes the adapter of the run's last checkpoint below a folder. */
async function exported(store: RunStore, folder: string): Promise<void> {
  const [run, trained] = [await openRun(store, ID), await readTrained(store, ID, null, "policy")];
  await writeOut(join(folder, OUT), (out) => out.add(adapterFiles(run.manifest(), trained)));
}

const shown = (tree: Tree): string =>
  JSON.stringify([...tree].map(([path, bytes]) => [path, bytes && String(bytes)]).sort());

/** Points of a kind; none in the browser, whose exports the browser saves as one file. */
export async function* exportPoints(
  every: EveryCall,
  where: FileSystemName,
  kind: Kind,
  only: (n: number) => boolean = () => true,
): AsyncGenerator<Point> {
  if (where !== "node") return;
  const files = FILE_SYSTEMS.node;
  const store = await inMemory((await every.trees).whole, ID);
  const changes: Change[] = [];
  let calls = 0;
  const done = files.open(new Map(), {
    call: (_name, _path, need) => {
      if (!isCrash(kind) && refuses(kind, need)) calls++;
    },
    change: (change) => void changes.push(change),
  });
  await exported(store, done.folder as string);
  const after = done.tree();
  done.close();
  const point = (n: number, what: string, differences: readonly string[]): Point => ({
    where,
    kind,
    n,
    what,
    differences,
  });

  /** Problems of what is left: a whole export, or none under its name; and the next export is whole. */
  const checked = async (tree: Tree): Promise<string[]> => {
    const own = new Map([...tree].filter(([path]) => path === OUT || path.startsWith(`${OUT}/`)));
    const problems = own.size <= 1 || shown(own) === shown(after) ? [] : ["a part of the export has its name"];
    if (own.size > 1) return problems;
    const opened = files.open(tree);
    try {
      await exported(store, opened.folder as string);
      if (shown(opened.tree()) !== shown(after)) problems.push("the next export differs");
    } catch (thrown) {
      problems.push(`the next export ended with "${String(thrown instanceof Error ? thrown.message : thrown)}"`);
    } finally {
      opened.close();
    }
    return problems;
  };
  if (isCrash(kind)) {
    let n = 0;
    for (const { what, tree } of crashStates(new Map(), changes, kind)) {
      if (only(n++)) yield point(n - 1, what, await checked(tree));
    }
    return;
  }
  for (let n = 0; n < calls; n++) {
    if (!only(n)) continue;
    let [count, broken, what] = [0, false, ""];
    const opened = files.open(new Map(), {
      call: (name, path, need) => {
        if (!refuses(kind, need) || (!broken && count++ < n)) return;
        what ||= `${name} ${path}`;
        broken = true;
        throw files.error(kind);
      },
      change: () => undefined,
    });
    const problems: string[] = [];
    try {
      await exported(store, opened.folder as string);
      if (broken) problems.push("the failure was not reported");
    } catch (thrown) {
      // A folder that cannot be made is a wrong argument of the tool.
      const ofArgument = /code bad-input: .* nothing was written/;
      problems.push(...sentence(kind, thrown, new Map()).filter((text) => !ofArgument.test(text)));
    }
    const left = opened.tree();
    opened.close();
    if (!broken) problems.push("it ended before this call");
    yield point(n, what, [...problems, ...(await checked(left))]);
  }
}
