/** Exports of the complete run into a folder on disk, ended or failed at every call: an export is whole or not there. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileFault } from "../../../scripts/lib/node/file-fault.ts";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type OutFolder, writeOut } from "../../../scripts/lib/out-folder.ts";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { checkMerged } from "../../../src/engine/export/check-merged.ts";
import { type ExportRows, exportRows } from "../../../src/engine/export/export-file.ts";
import { RUN_EXPORTS, type RunExport } from "../../../src/engine/export/export-names.ts";
import { exportFiles } from "../../../src/engine/export/formats.ts";
import { mergedFiles } from "../../../src/engine/export/merged.ts";
import { readTrained } from "../../../src/engine/runs/checkpoint/trained.ts";
import { openRun, type RunFolder } from "../../../src/engine/runs/run-folder.ts";
import { type Change, crashStates, type Tree } from "./changes.ts";
import { type EveryCall, isCrash, type Kind, type Point, sentence } from "./every-call.ts";
import { FILE_SYSTEMS, type FileSystemName, inMemory, refuses } from "./folders.ts";
import { ID, type SmallRun } from "./small-run.ts";

/** Folder of the export. */
const OUT = "export";
/** Training rows of an export that contains them; one more adds the same calls again. */
const ROWS = 2;

type Write = (run: RunFolder, out: OutFolder) => Promise<void>;

/** What `npm run export` writes, by format. */
async function writers({ model, set, list }: SmallRun, run: RunFolder): Promise<readonly (readonly [string, Write])[]> {
  const rows = fewer(await exportRows(run.manifest(), set, list.dataSet));
  const dataSet = { set, name: list.dataSet };
  const wordnet = async () => memorySource("wordnet30.txt", new Uint8Array(100));
  const formats = (Object.keys(RUN_EXPORTS) as RunExport[]).map((format): [string, Write] => [
    format,
    async (source, out) => out.add(await exportFiles(source, format, { rows, dataSet, wordnet })),
  ]);
  return [
    ...formats,
    [
      "merged",
      async (source, out) => {
        const [base, trained] = [await nodeFolder(model), await readTrained(source.store, ID, null, "policy")];
        await out.add(mergedFiles(base, trained, { dtype: null }));
        await checkMerged(base, trained, await out.readBack(), null);
      },
    ],
  ];
}

function fewer(rows: ExportRows): ExportRows {
  return {
    ...rows,
    async *train() {
      let left = ROWS;
      for await (const row of rows.train())
        if (left-- > 0) yield row;
        else return;
    },
  };
}

const shown = (tree: Tree): string => {
  const hash = (bytes: Uint8Array | null): string | null => bytes && createHash("sha256").update(bytes).digest("hex");
  return JSON.stringify([...tree].map(([path, bytes]) => [path, hash(bytes)]).sort());
};

/** Points of a kind; none in the browser, whose exports the browser saves as one file. */
export async function* exportPoints(
  every: EveryCall,
  where: FileSystemName,
  kind: Kind,
  only: (n: number) => boolean = () => true,
): AsyncGenerator<Point> {
  if (where !== "node") return;
  const run = await openRun(await inMemory((await every.trees).whole, ID), ID);
  let n = 0;
  for (const [name, write] of await writers(every.run, run)) {
    const exported = async (folder: string): Promise<void> => {
      await writeOut(join(folder, OUT), (out) => write(run, out));
    };
    for await (const { what, differences } of pointsOf(exported, kind, () => only(n++))) {
      yield { where, kind, n: n - 1, what: `${name}: ${what}`, differences };
    }
  }
}

/** @param next whether the next point is wanted */
async function* pointsOf(
  exported: (folder: string) => Promise<void>,
  kind: Kind,
  next: () => boolean,
): AsyncGenerator<Pick<Point, "what" | "differences">> {
  const files = FILE_SYSTEMS.node;
  const changes: Change[] = [];
  let calls = 0;
  const done = files.open(new Map(), {
    call: (_name, _path, need) => {
      if (!isCrash(kind) && refuses(kind, need)) calls++;
    },
    change: (change) => void changes.push(change),
  });
  await exported(done.folder as string);
  const after = shown(done.tree());
  done.close();
  /** Problems of states that were seen before. */
  const known = new Map<string, readonly string[]>();

  /** Problems of what is left: a whole export, or none under its name; and the next export is whole. */
  const checked = async (tree: Tree): Promise<readonly string[]> => {
    const state = shown(tree);
    const problems = known.get(state) ?? (await found(tree));
    known.set(state, problems);
    return problems;
  };
  const found = async (tree: Tree): Promise<readonly string[]> => {
    const own = new Map([...tree].filter(([path]) => path === OUT || path.startsWith(`${OUT}/`)));
    if (own.size > 1) return shown(own) === after ? [] : ["a part of the export has its name"];
    const opened = files.open(tree);
    try {
      await exported(opened.folder as string);
      return shown(opened.tree()) === after ? [] : ["the next export differs"];
    } catch (thrown) {
      return [`the next export ended with "${String(thrown instanceof Error ? thrown.message : thrown)}"`];
    } finally {
      opened.close();
    }
  };
  if (isCrash(kind)) {
    for (const { what, tree } of crashStates(new Map(), changes, kind)) {
      if (next()) yield { what, differences: await checked(tree) };
    }
    return;
  }
  for (let n = 0; n < calls; n++) {
    if (!next()) continue;
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
      await exported(opened.folder as string);
      if (broken) problems.push("the failure was not reported");
    } catch (thrown) {
      // A folder that cannot be made is a wrong argument of the tool, which words an error of Node's itself.
      const ofArgument = /code bad-input: .* nothing was written/;
      const told = fileFault(thrown) ?? thrown;
      problems.push(...sentence(kind, told, new Map()).filter((text) => !ofArgument.test(text)));
    }
    const left = opened.tree();
    opened.close();
    if (!broken) problems.push("it ended before this call");
    yield { what, differences: [...problems, ...(await checked(left))] };
  }
}
