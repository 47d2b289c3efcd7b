/** Brings a stored run home that went on elsewhere. */
import { LabError } from "../errors.ts";
import type { RunStore } from "../storage/store.ts";
import { checkFiles } from "./checkpoint/checkpoint.ts";
import { inCopyOrder, listCheckpoints } from "./checkpoint/checkpoint-folder.ts";
import { openRun } from "./run-folder.ts";

/** Files that stay those of the stored run, or that its next export writes anew. */
const KEPT = /^(notes\.json$|thumbs\.json$|scale\/)/;

/**
 * Adds what another machine computed to a stored run: steps, evaluations, rollouts and checkpoints. Checkpoints come after
 * everything else and count only once their last file is there, so an interrupted copy resumes from its own checkpoint.
 * @param from store of the same run with more steps
 * @throws LabError unless the stored run is the other one's beginning, or naming a damaged checkpoint; nothing is changed then
 */
export async function takeOver(store: RunStore, from: RunStore, id: string): Promise<void> {
  const [own = [], other = []] = await Promise.all(
    [store, from].map(async (s) => (await openRun(s, id)).readMetrics()),
  );
  const begins = own.every((row, at) => JSON.stringify(row) === JSON.stringify(other[at]));
  const [newest, offered] = await Promise.all(
    [store, from].map(async (s) => (await listCheckpoints(s, id)).at(-1) ?? 0),
  );
  // Equal metrics without the checkpoints are a copy that was interrupted.
  if (!begins || (other.length === own.length && newest === offered)) {
    throw new LabError(
      "bad-input",
      `Run "${id}" is stored in this browser with ${own.length} steps, which the opened one does not continue; export and delete it here first`,
      { subject: id },
    );
  }
  for (const step of await listCheckpoints(from, id)) await checkFiles(from, id, step);
  const paths = (await from.list(id)).map(({ path }) => path).filter((path) => !KEPT.test(path.slice(id.length + 1)));
  for (const path of inCopyOrder(paths, id)) await store.write(path, await from.read(path));
}
