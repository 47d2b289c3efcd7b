/** Calls of suites on the data worker: opens their rows, and keeps answers and reports. */
import type { EncodedImage, RgbImage } from "../../engine/data/sample.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import type { RunStore } from "../../engine/storage/store.ts";
import type { DataPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { suiteOf } from "./all.ts";
import {
  evaluationColumns,
  type FinishedEvaluation,
  finishedEvaluations,
  looksAt,
  type StoredSuite,
  storedSuites,
} from "./finished.ts";
import { type EvalFacts, type EvalFolder, evalId, openEvalFolder, suiteRowsHash } from "./folder.ts";
import { ledgerCsv, ledgerParquet } from "./ledger.ts";
import { type SuitePart, suitePart } from "./part.ts";
import type { SuiteReport } from "./report.ts";
import { rowPictures } from "./row-pictures.ts";
import type { SuiteRow } from "./run-suite.ts";
import { SUITE, type SuiteItem, type SuiteRows } from "./suite.ts";

/** Rows of a suite as sent to the page. */
interface OpenSuite {
  readonly items: readonly SuiteItem[];
  readonly leftOut: readonly string[];
  readonly rowsHash: string;
}

export const suiteCalls = (place: () => Promise<DataPlace>) => {
  let suite: SuiteRows | null = null;
  const evaluations = new Map<string, EvalFolder>();
  const openStore = (): Promise<RunStore> => place().then(({ store }) => store("evaluations"));

  async function seenRow(index: number) {
    const { pixels, sources } = await place();
    const item = sources.has(SUITE) ? suite?.items[index] : undefined;
    if (suite === null || item === undefined) throw badInput("The evaluation suite is not open");
    const image: EncodedImage = await suite.picture(index);
    const rgb: RgbImage = await pixels({ imageId: item.imageId, image });
    return { item, image, rgb };
  }

  function evaluation(id: string): EvalFolder {
    const folder = evaluations.get(id);
    if (folder === undefined) throw new LabError("internal", `Evaluation ${id} is not open`);
    return folder;
  }

  async function allFinished(store: RunStore): Promise<FinishedEvaluation[]> {
    return finishedEvaluations(store, await store.names(""));
  }

  return {
    /** Rows of an evaluation suite in the open files. */
    async openSuite(name: string, split: string | null, part: SuitePart, signal: AbortSignal): Promise<OpenSuite> {
      const wanted = suiteOf(name);
      if (wanted === undefined) throw new LabError("internal", `There is no suite ${name}`);
      const { files, sources } = await place();
      const folder = files();
      if (folder === null) throw badInput("No data set is open; open the files of the suite first");
      suite = suitePart(await wanted.open(folder, split ?? undefined, signal), part);
      sources.set(SUITE, async (index) => {
        const { item, rgb } = await seenRow(index);
        return { id: item.imageId, rgb };
      });
      const { items, leftOut } = suite;
      return { items, leftOut, rowsHash: await suiteRowsHash(wanted, items) };
    },
    /**
     * The pictures of a row of the open suite that a judge receives, as data URLs.
     * @throws LabError like the calls for pictures
     */
    judgePictures: async (name: string, index: number): Promise<readonly string[]> =>
      rowPictures(name, await seenRow(index)),
    /** Opens or continues an evaluation of the open suite. Returns its id and the answers so far. */
    async openEvaluation(
      facts: EvalFacts,
    ): Promise<{ readonly id: string; readonly answers: readonly SuiteRow[]; readonly looks: number }> {
      const id = await evalId(facts);
      const store = await openStore();
      const folder = await openEvalFolder(store, id, facts);
      await folder.items(suite?.items.slice(0, facts.rows) ?? []);
      evaluations.set(id, folder);
      return { id, answers: [...folder.answers.values()], looks: looksAt(facts, id, await allFinished(store)) };
    },
    /** Finished and stopped evaluations of suites, by name. */
    async storedSuites(): Promise<readonly StoredSuite[]> {
      const store = await openStore();
      return storedSuites(store, await store.names(""));
    },
    async deleteEvaluation(id: string): Promise<void> {
      evaluations.delete(id);
      await (await openStore()).remove(id);
    },
    /** Finished evaluations of the same rows as one table. @throws LabError("bad-input") naming one of other rows */
    async ledger(ids: readonly string[], format: "csv" | "parquet"): Promise<Blob> {
      const store = await openStore();
      const columns = (await Promise.all(ids.map((id) => evaluationColumns(store, id)))).flat();
      return new Blob([format === "csv" ? ledgerCsv(columns) : ledgerParquet(columns)]);
    },
    keepAnswers: async (id: string, rows: readonly SuiteRow[]): Promise<void> => evaluation(id).add(rows),
    keepReport: async (id: string, report: SuiteReport): Promise<void> => evaluation(id).report(report),
  };
};

export type SuiteCalls = CallsOf<typeof suiteCalls>;
