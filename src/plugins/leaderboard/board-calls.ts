/** Calls of the leaderboard on the data worker. */
import type { DataPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { ledgerCsv } from "../suites/ledger.ts";
import {
  type Board,
  type BoardAsked,
  type BoardEntry,
  BoardReader,
  boardColumns,
  leaderboards,
} from "./leaderboard.ts";

export const boardCalls = (place: () => Promise<DataPlace>) => {
  let boards: BoardReader | null = null;

  async function entries(): Promise<BoardEntry[]> {
    const { library, store } = await place();
    boards ??= new BoardReader(await store());
    return boards.read((await (await library()).list()).runs);
  }

  return {
    /** Stored runs by a held-out score, over the same rows. */
    leaderboards: async (asked: BoardAsked): Promise<readonly Board[]> => leaderboards(await entries(), asked),
    /**
     * The rows behind a leaderboard as CSV, one column per run.
     * @param hash hash of the rows
     */
    boardRows: async (asked: BoardAsked, hash: string): Promise<Blob> =>
      new Blob([ledgerCsv(await boardColumns(await entries(), asked, hash))], { type: "text/csv" }),
  };
};

export type BoardCalls = CallsOf<typeof boardCalls>;
