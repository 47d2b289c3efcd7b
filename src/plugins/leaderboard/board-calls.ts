/** Calls of the leaderboard on the data worker. */
import type { DataPlace, ServedAt } from "../../protocol/plugin-calls.ts";
import { ledgerCsv } from "../suites/ledger.ts";
import {
  type Board,
  type BoardAsked,
  type BoardEntry,
  BoardReader,
  boardColumns,
  leaderboards,
} from "./leaderboard.ts";

export interface BoardCalls {
  /** Stored runs by a held-out score, over the same rows. */
  leaderboards(asked: BoardAsked): Promise<readonly Board[]>;
  /**
   * The rows behind a leaderboard as CSV, one column per run.
   * @param hash hash of the rows
   */
  boardRows(asked: BoardAsked, hash: string): Promise<Blob>;
}

export const boardCalls: ServedAt<DataPlace, BoardCalls> = (place) => {
  let boards: BoardReader | null = null;

  async function entries(): Promise<BoardEntry[]> {
    const { library, store } = await place();
    boards ??= new BoardReader(await store());
    return boards.read((await (await library()).list()).runs);
  }

  return {
    leaderboards: async (asked) => leaderboards(await entries(), asked),
    boardRows: async (asked, hash) =>
      new Blob([ledgerCsv(await boardColumns(await entries(), asked, hash))], { type: "text/csv" }),
  };
};
