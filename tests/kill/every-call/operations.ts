/** What the list of runs does to a stored run, ended or failed at every call. No run computes here. */
import { usableCheckpoint } from "../../../src/engine/rl/run/start/stored-state.ts";
import { listCheckpoints } from "../../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { forkRun } from "../../../src/plugins/fork/fork.ts";
import { type Change, crashStates, type Tree } from "./changes.ts";
import { type EveryCall, isCrash, type Kind, listed, type Point, sentence } from "./every-call.ts";
import {
  compared,
  described,
  FILE_SYSTEMS,
  type FileSystemName,
  filesOf,
  inMemory,
  type Opened,
  refuses,
} from "./folders.ts";
import { ID, STEPS } from "./small-run.ts";

const FORK = "fork-20240102000000000";
const NOTES = { text: "promising", tags: ["kept"], steps: [{ step: 3, text: "half" }] };

interface Operation {
  readonly name: string;
  /** Whether it changes a run that has fewer steps than the complete one. */
  readonly shorter?: boolean;
  readonly act: (store: RunStore, complete: RunStore) => Promise<unknown>;
  /** Files of the run that may differ from those before. */
  readonly changes: RegExp;
  /** Problems of the store after an interruption. */
  readonly check?: (opened: Opened, after: Tree) => Promise<string[]>;
  /** What the user does before it is repeated. */
  readonly again?: (store: RunStore) => Promise<unknown>;
}

const OPERATIONS: readonly Operation[] = [
  {
    name: "rename",
    changes: /^run\.json$/,
    act: (store) => runLibrary(store, null).rename(ID, "another title"),
    check: async ({ store }) => {
      const { title } = (await runLibrary(store, null).open(ID)).run.manifest;
      return ["small", "another title"].includes(title) ? [] : [`its title is ${title}`];
    },
  },
  {
    name: "notes",
    changes: /^notes\.json$/,
    act: (store) => runLibrary(store, null).setNotes(ID, NOTES),
  },
  {
    name: "list",
    changes: /^$/,
    act: (store) => runLibrary(store, null).list(),
  },
  {
    name: "delete",
    changes: /./,
    act: (store) => runLibrary(store, null).remove(ID),
    // The list completes it; a run that is listed is whole.
    check: async ({ store, tree }) => {
      const { runs, damaged } = await runLibrary(store, null).list();
      const left = [...filesOf(tree(), ID).keys()];
      if (runs.length + damaged.length === 0) return left.map((path) => `${path} is left of the deleted run`);
      return left.includes("metrics.jsonl") &&
        damaged.length === 0 &&
        (await listCheckpoints(store, ID)).includes(STEPS)
        ? []
        : ["a part of the run is listed"];
    },
  },
  {
    name: "fork",
    changes: /^$/,
    act: (store) =>
      forkRun(store, ID, {
        step: STEPS,
        id: FORK,
        title: "fork",
        created: "2024-01-02",
        changes: { steps: 2 * STEPS },
      }),
    check: async ({ store, tree }, after) => {
      // A fork that can be resumed is complete.
      if ((await listCheckpoints(store, FORK)).length === 0) return [];
      return compared(described(after, FORK), described(tree(), FORK));
    },
    again: (store) => runLibrary(store, null).remove(FORK),
  },
  {
    name: "take-over",
    shorter: true,
    changes: /^(?!notes)/,
    act: (store, complete) => runLibrary(store, null).takeOver(ID, complete),
    check: async ({ store }) => {
      const step = (await usableCheckpoint(store, ID))?.step ?? 0;
      return step >= STEPS - 2 ? [] : [`it would continue from step ${step}`];
    },
  },
];

/** Points of a kind in all operations, in order. */
export async function* operationPoints(
  every: EveryCall,
  where: FileSystemName,
  kind: Kind,
  only: (n: number) => boolean = () => true,
): AsyncGenerator<Point> {
  const { whole, shorter } = await every.trees;
  const complete = await inMemory(whole, ID);
  const files = FILE_SYSTEMS[where];
  let n = 0;
  for (const operation of OPERATIONS) {
    const base = operation.shorter === true ? shorter : whole;
    const changes: Change[] = [];
    let calls = 0;
    const done = files.open(base, {
      call: (_name, _path, need) => {
        if (!isCrash(kind) && refuses(kind, need)) calls++;
      },
      change: (change) => void changes.push(change),
    });
    await operation.act(done.store, complete);
    const after = done.tree();
    done.close();
    const point = (at: number, what: string, differences: readonly string[]): Point => ({
      ...{ where, kind, n: at, what: `${operation.name}: ${what}`, differences },
    });
    if (isCrash(kind)) {
      for (const { what, tree } of crashStates(base, changes, kind)) {
        if (only(n++)) yield point(n - 1, what, await checked(operation, where, base, tree, after, complete));
      }
      continue;
    }
    for (let call = 0; call < calls; call++) {
      if (!only(n++)) continue;
      let [count, broken, mended] = [0, false, false];
      const opened = files.open(base, {
        call: (_name, _path, need) => {
          if (mended || !refuses(kind, need)) return;
          if (count++ >= call) broken = true;
          if (broken) throw files.error(kind);
        },
        change: () => undefined,
      });
      const problems: string[] = [];
      try {
        await operation.act(opened.store, complete);
        // A list needs no file of its own.
        if (broken && operation.name !== "list" && !(operation.name === "delete" && kind === "full"))
          problems.push("the failure was not reported");
      } catch (thrown) {
        problems.push(...sentence(kind, thrown, opened.tree()));
      }
      mended = true;
      const left = opened.tree();
      opened.close();
      if (!broken) problems.push("it ended before this call");
      problems.push(...(await checked(operation, where, base, left, after, complete)));
      yield point(n - 1, `call ${call}`, problems);
    }
  }
}

/** Problems of what an interruption left: what is listed, what has changed, and whether the operation can be repeated. */
async function checked(
  { act, changes, check, again }: Operation,
  where: FileSystemName,
  base: Tree,
  tree: Tree,
  after: Tree,
  complete: RunStore,
): Promise<string[]> {
  const opened = FILE_SYSTEMS[where].open(tree);
  const problems: string[] = [];
  const unchanged = (found: Tree) =>
    compared(described(base, ID), described(found, ID)).filter((text) => !changes.test(text.split(" ")[0] as string));
  try {
    problems.push(...unchanged(opened.tree()).filter((text) => !/\.unfinished~|\.%(new|ready)/.test(text)));
    problems.push(...(await listed(opened)));
    problems.push(...((await check?.(opened, after)) ?? []));
    await again?.(opened.store);
    await act(opened.store, complete);
    for (const id of [ID, FORK]) problems.push(...compared(described(after, id), described(opened.tree(), id)));
  } catch (thrown) {
    problems.push(`it ended with "${String(thrown instanceof Error ? thrown.message : thrown)}"`);
  } finally {
    opened.close();
  }
  return problems;
}
