/** Every call of a store to its file system fails once, with all later ones: what is said, what is kept, and what follows. */
import { describe, expect, it } from "vitest";
import { LabError } from "../../../src/engine/errors.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import type { Tree } from "../../kill/every-call/changes.ts";
import {
  causeIn,
  FAILURES,
  type Failure,
  FILE_SYSTEMS,
  type FileSystemName,
  refuses,
} from "../../kill/every-call/folders.ts";

const text = (content: string) => new TextEncoder().encode(content);
/** A folder of a run and a folder beside it. */
const BEFORE: Tree = new Map([
  ["run", null],
  ["run/old", text("old content")],
  ["run/log", text("line 1\n")],
  ["run/deep", null],
  ["run/deep/one", text("one")],
  ["run/deep/two", text("two")],
  ["beside", null],
  ["beside/file", text("beside")],
]);

type Act = (store: RunStore) => Promise<unknown>;
const ACTS: Readonly<Record<string, Act>> = {
  "writes a file": (store) => store.write("run/new", "new content"),
  "writes a file in a new folder": (store) => store.write("run/a/b/new", "new content"),
  "replaces a file": (store) => store.write("run/old", "other content"),
  "appends to a file": (store) => store.append("run/log", "line 2\n"),
  "appends to a new file": (store) => store.append("run/new-log", "line 1\n"),
  "removes a file": (store) => store.remove("run/old"),
  "removes a folder": (store) => store.remove("run"),
  reads: (store) => store.read("run/old"),
  "reads text": (store) => store.readText("run/old"),
  opens: async (store) => (await store.open("run/old")).read(0, 3),
  "asks for a size": (store) => store.size("run/old"),
  "lists files": (store) => store.list("run"),
  "lists names": (store) => store.names("run"),
};

const shown = (tree: Tree) => Object.fromEntries([...tree].map(([path, bytes]) => [path, bytes && String(bytes)]));

const content = (tree: Tree, path: string): string => new TextDecoder().decode(tree.get(path) ?? new Uint8Array());

/** Content of the files of before, as the store reads them; null for those that are gone. */
async function contents(store: RunStore): Promise<Readonly<Record<string, string | null>>> {
  const files = [...BEFORE].flatMap(([path, bytes]) => (bytes === null ? [] : [path]));
  const read = files.map(async (path) => [path, (await store.size(path)) === null ? null : await store.readText(path)]);
  return Object.fromEntries(await Promise.all(read));
}

/** Makes the n-th refusable call and all later ones fail; counts them. */
function failing(where: FileSystemName, kind: Failure, n: number) {
  const state = { count: 0, broken: false, mended: false };
  const files = FILE_SYSTEMS[where].open(BEFORE, {
    call: (_name, _path, need) => {
      if (state.mended || !refuses(kind, need)) return;
      if (state.count++ >= n) state.broken = true;
      if (state.broken) throw FILE_SYSTEMS[where].error(kind);
    },
    change: () => undefined,
  });
  return { ...files, state };
}

describe.each(Object.keys(FILE_SYSTEMS) as FileSystemName[])("a store in %s", (where) => {
  describe.each(FAILURES)("whose storage is %s", (kind) => {
    it.each(Object.entries(ACTS))("%s or says why not, and does so afterwards", async (_, act) => {
      const whole = FILE_SYSTEMS[where].open(BEFORE);
      const result = await act(whole.store);
      const after = whole.tree();
      const fresh = await contents(whole.store);
      whole.close();
      for (let n = 0; ; n++) {
        const { store, tree, close, state } = failing(where, kind, n);
        try {
          const thrown = await act(store).then(
            () => null,
            (error: unknown) => error,
          );
          if (!state.broken) break;
          state.mended = true;
          expect(thrown, `call ${n}`).toBeInstanceOf(LabError);
          const { code, message } = thrown as LabError;
          expect([code, causeIn(kind, message) ? "" : message], `call ${n}`).toEqual(["storage", ""]);
          // Whole files only: what there was, or what there will be.
          const found = await contents(store);
          for (const [path, now] of Object.entries(found))
            expect([content(BEFORE, path), fresh[path]], `${path} at call ${n}`).toContain(now);
          // What was appended and could not be taken back is there.
          const logs = ["run/log", "run/new-log"].filter((path) => content(tree(), path) !== content(BEFORE, path));
          if (kind !== "full" && logs.length > 0) continue;
          expect(await act(store)).toEqual(result);
          expect(shown(tree())).toEqual(shown(after));
        } finally {
          close();
        }
      }
    });
  });
});

it.each(FAILURES)(
  "a lock in a folder that is %s is refused with a sentence, and never stands in the way",
  async (kind) => {
    for (let n = 0; ; n++) {
      const { store, close, state } = failing("node", kind, n);
      try {
        let thrown: unknown = null;
        const release = await store.hold?.("run").catch((error: unknown) => {
          thrown = error;
        });
        // A release says nothing: the run has ended, and its own error is reported.
        release?.();
        if (!state.broken) break;
        state.mended = true;
        if (release === undefined) {
          expect(thrown, `call ${n}`).toMatchObject({ code: "storage" });
          expect(causeIn(kind, (thrown as LabError).message), `call ${n}`).toBe(true);
        }
        const again = await store.hold?.("run");
        await expect(store.hold?.("run")).rejects.toThrow(/is running in process/);
        again?.();
        expect(await store.names("run")).toEqual(["deep", "log", "old"]);
      } finally {
        close();
      }
    }
  },
);
