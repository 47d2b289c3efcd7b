/** Brings back a stored run that another machine continued. */
import { isRecord, parseJson } from "../../bytes/json.ts";
import { badInput } from "../../errors.ts";
import type { RunStore } from "../../storage/store.ts";
import { checkFiles } from "../checkpoint/checkpoint.ts";
import { inCopyOrder, listCheckpoints } from "../checkpoint/checkpoint-folder.ts";
import { readEvaluations, writeEvaluations } from "../evaluations/evaluations.ts";
import { openRun } from "../run-folder.ts";

/** Files that the stored run keeps, or that its next export rewrites. */
const KEPT = /^(notes\.json$|scale\/)/;

/**
 * Adds another machine's results to a stored run: steps, evaluations, rollouts and checkpoints. Checkpoints are copied
 * last and count only once their last file is there, so after an interruption the run resumes from its own checkpoint.
 * The stored run keeps its title and its evaluations of steps that the other one did not evaluate.
 * @param from store of the same run with more steps
 * @throws LabError unless the other run continues the stored one, or naming a damaged checkpoint; nothing is changed
 * then
 */
export async function takeOver(store: RunStore, from: RunStore, id: string): Promise<void> {
  const stored = await openRun(store, id);
  const [own, other] = await Promise.all([stored.readMetrics(), (await openRun(from, id)).readMetrics()]);
  const begins = own.every((row, at) => JSON.stringify(row) === JSON.stringify(other[at]));
  const [newest, offered] = await Promise.all(
    [store, from].map(async (s) => (await listCheckpoints(s, id)).at(-1) ?? 0),
  );
  // Equal metrics without the checkpoints mean that a copy was interrupted.
  if (!begins || (other.length === own.length && newest === offered)) {
    throw badInput(
      `Run "${id}" is stored in this browser with ${own.length} steps, which the opened run does not continue; export and delete the stored run first`,
      id,
    );
  }
  for (const step of await listCheckpoints(from, id)) await checkFiles(from, id, step);
  const paths = (await from.list(id)).map(({ path }) => path).filter((path) => !KEPT.test(path.slice(id.length + 1)));
  const evaluations = await readEvaluations(from, id);
  const steps = new Set(evaluations.map(({ report }) => report.step));
  const more = (await readEvaluations(store, id)).filter(({ report }) => !steps.has(report.step));
  const all = [...evaluations, ...more].sort((a, b) => a.report.step - b.report.step);
  for (const path of inCopyOrder(paths, id)) {
    if (path === `${id}/eval.jsonl`) await writeEvaluations(store, id, all);
    else if (path === `${id}/run.json`)
      await store.write(path, titled(await from.readText(path), stored.manifest().title));
    else await store.write(path, await from.read(path));
  }
}

/** run.json with another title. */
function titled(text: string, title: string): string {
  const value = parseJson(text, "run.json");
  return `${JSON.stringify(isRecord(value) ? { ...value, title } : value, null, 2)}\n`;
}
