/** Reads shards, decodes pictures and serves stored runs, so that neither the page nor the trainer waits. */

import { inTurn } from "../src/engine/bytes/pace.ts";
import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { framePixels } from "../src/engine/data/film-strip.ts";
import { decodeInBrowser, displayBitmap, pictureCache } from "../src/engine/data/image/decode-bitmap.ts";
import { decodeRle } from "../src/engine/data/mask/rle.ts";
import { findRow, isStoredRow, otherCaptions, rawRow, rowsHash } from "../src/engine/data/open-rows.ts";
import { openRegionSet, type RegionSet } from "../src/engine/data/region-set.ts";
import type { RegionSummary, RgbImage } from "../src/engine/data/sample.ts";
import { checkRegionSet, describeSet, foldersWithRows, type SetInfo, whyNoRow } from "../src/engine/data/set-info.ts";
import type { DataMapping } from "../src/engine/data/tables/mapping.ts";
import { badInput, LabError, LONGEST_SENTENCE, shortened, toLabError } from "../src/engine/errors.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { keepDifficulty, keptDifficulty, mergedDifficulty, type RowDifficulty } from "../src/engine/runs/difficulty.ts";
import type { PictureOf } from "../src/engine/runs/rollouts/rollout-picture.ts";
import { rowList, runRows, type SplitSettings } from "../src/engine/runs/run-rows.ts";
import { keepFilesInUse, openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import { DATA_CALLS } from "../src/plugins/data-calls.ts";
import type { FolderRef } from "../src/protocol/common.ts";
import type { OpeningProgress, RowCalls } from "../src/protocol/data.ts";
import type { DataPlace } from "../src/protocol/plugin-calls.ts";
import { type CallsOf, connect, type Handlers, Moved, ownPort } from "../src/protocol/rpc.ts";
import { elsewhereCalls } from "./elsewhere.ts";
import { exportZip, runZip } from "./exports.ts";
import { folderName, openFolders } from "./folders.ts";
import { addRun, runCalls, runs, storedThumbnail } from "./stored-runs.ts";

/** Bytes of decoded pixels kept: about 250 pictures of 640 x 480. */
const PICTURE_BYTES = 256 * 2 ** 20;

/** End of the sentence that says why files were refused. */
const KEPT = "; the open rows are kept";
const REASON = LONGEST_SENTENCE - KEPT.length;

type Open = (
  folders: readonly FolderRef[],
  mapping: DataMapping | null,
  onProgress: (progress: OpeningProgress) => void,
  onRows: (rows: readonly RegionSummary[]) => void,
  signal: AbortSignal,
) => Promise<SetInfo>;

interface OpenSet {
  readonly set: RegionSet;
  readonly byId: Map<string, RegionSummary>;
}

const picture = pictureCache(decodeInBrowser, PICTURE_BYTES);
let opened: OpenSet | null = null;
/** Files of the last opened folders, even if they contain no training rows. */
let files: ByteFolder | null = null;
/** Pictures that plug-ins opened in these files. */
const sources: DataPlace["sources"] = new Map();
let opening = new AbortController();
const inOrder = inTurn();
const openSet: Open = async (folders, mapping, onProgress, onRows, signal) => {
  const names = folders.map(folderName);
  const folder = await openFolders(folders);
  const seen = new Set<string>();
  const byId = new Map<string, RegionSummary>();
  const before = { opened, files };
  const pictures = [...sources];
  [opened, files] = [null, folder];
  sources.clear();
  const set = await openRegionSet(folder, {
    signal,
    ...(mapping === null ? {} : { mapping }),
    onProgress: ({ file, filesTotal, rows, totalRows }) =>
      onProgress({ files: seen.add(file).size, filesTotal, rows, totalRows }),
    onRows: (rows, growing) => {
      for (const row of rows) byId.set(row.id, row);
      // Pictures of the first rows are available while the rest is still being indexed.
      opened = { set: growing, byId };
      onRows(rows);
    },
  }).catch((thrown: unknown) => {
    ({ opened, files } = before);
    for (const [name, source] of pictures) sources.set(name, source);
    throw thrown;
  });
  // Columns that were not found, that may have been taken for others, or that the user corrects can be named by hand: such
  // files replace the open ones. Records of a known form have no choice of columns.
  const correctable = set.files.some(
    ({ adapter, parts = [], rows, reason }) =>
      parts.length > 0 && rows > 0 && (mapping !== null || adapter === "" || reason === undefined),
  );
  if (set.summaries.length === 0 && !correctable && (before.opened?.set.summaries.length ?? 0) > 0) {
    // Files without training rows may still hold an evaluation suite.
    opened = before.opened;
    throw badInput(shortened(whyNoRow(set.skipped, names), REASON) + KEPT);
  }
  opened = { set, byId };
  const alone = mapping === null ? foldersWithRows(set, names) : undefined;
  // The page opens them again.
  const checks = alone === undefined ? await checkRegionSet(set, decodeInBrowser, () => performance.now(), names) : [];
  return { ...describeSet(set, names.join(" + "), checks), ...(alone && { alone }) };
};

/**
 * Indexes folders and replaces the open set, with the user's corrections if given; rows arrive while it runs. A newer
 * call ends the current one: one index is built at a time.
 */
const open: Open = async (folders, mapping, onProgress, onRows, signal) => {
  opening.abort();
  opening = new AbortController();
  const either = AbortSignal.any([signal, opening.signal]);
  return inOrder(async () => {
    if (either.aborted) throw new LabError("cancelled", "Opening was cancelled before it started");
    return openSet(folders, mapping, onProgress, onRows, either);
  });
};

function current(): OpenSet {
  if (opened === null) throw badInput("No data set is open; open or drop a folder of shards first");
  return opened;
}

/** Pixels of a row of a set; errors name the row. */
async function pixelsOf(set: RegionSet, index: number): Promise<RgbImage> {
  const sample = await set.sample(index);
  try {
    return await picture(sample);
  } catch (thrown) {
    const { code, message } = toLabError(thrown);
    throw new LabError(code, `${sample.id}: ${message}`, { subject: sample.id, cause: thrown });
  }
}

/** Picture of the open row with this id and content; null if none is open. */
const pictureOf: PictureOf = async (rowId, imageId) => {
  const row = opened?.byId.get(rowId);
  if (opened === null || row === undefined || !isStoredRow(row, { rowId, imageId })) return null;
  return pixelsOf(opened.set, row.index);
};

const idsOfRows = () => current().set.summaries.map(({ id, imageId }) => [id, imageId] as const);

/** A picture that a plug-in opened. */
async function sourcePicture(name: string, index: number) {
  const source = sources.get(name);
  if (source === undefined) throw badInput(`The files of the ${name} are no longer open; open them again`);
  return source(index);
}

const rowCalls: Handlers<RowCalls> = {
  ...elsewhereCalls,
  async sourcePicture(source, index) {
    const { id, rgb } = await sourcePicture(source, index);
    const own = { ...rgb, data: new Uint8Array(rgb.data) };
    return new Moved({ id, rgb: own }, own.data.buffer);
  },
  async row(index) {
    const { set } = current();
    const { width, height, data } = await pixelsOf(set, index);
    const summary = set.summaries[index] as RegionSummary;
    // A copy: the cache keeps its own.
    const pixels = new Uint8Array(data);
    const mask = decodeRle(summary.mask);
    const others = otherCaptions(set.summaries, index);
    return new Moved({ summary, rgb: { width, height, data: pixels }, mask, others }, pixels.buffer, mask.buffer);
  },
};

/** Store path of the open rows' difficulty. */
async function difficultyFile() {
  return { store: await openOpfsStore("difficulty"), name: (await rowsHash(idsOfRows())).slice(0, 32) };
}

const place: DataPlace = { files: () => files, pixels: picture, sources, store: openOpfsStore, library: runs, addRun };

const dataCalls = {
  ...runCalls,
  open,
  /**
   * Picture of an open row, its longer side at most `maxSide` device pixels.
   * @param imageId expected picture: the call fails if the row has another one; null accepts any
   * @param frame frame of a clip; null for all frames below each other
   */
  async image(rowId: string, imageId: string | null, maxSide: number, frame: number | null) {
    const [, source = "", item] = /^(\w+) (\d+)$/.exec(rowId) ?? [];
    const open = opened?.byId.get(rowId);
    if (imageId !== null && !sources.has(source) && (open === undefined || !isStoredRow(open, { rowId, imageId }))) {
      const small = await storedThumbnail(imageId);
      if (small !== null) {
        const bitmap = await createImageBitmap(small);
        return new Moved(bitmap, bitmap);
      }
    }
    const row = sources.has(source) ? undefined : findRow(current().byId, rowId, imageId);
    const rgb =
      row === undefined ? (await sourcePicture(source, Number(item))).rgb : await pixelsOf(current().set, row.index);
    const shown = frame === null ? rgb : framePixels(rgb, row?.frames ?? 1, frame);
    const bitmap = await displayBitmap(shown, maxSide);
    return new Moved(bitmap, bitmap);
  },
  /** Number of open rows that a run with these settings trains on. @throws LabError when none is left */
  trainRows: async (settings: SplitSettings) =>
    runRows(rowList("the open data set", current().set.summaries), settings).train.length,
  /** The row's record as JSON text, picture bytes left out. */
  async rawRow(rowId: string) {
    const { file, row } = findRow(current().byId, rowId, null);
    return rawRow(current().set, file, row);
  },
  /**
   * The whole run folder, or one of its exports, as one zip.
   * @param onBytes called with the bytes so far @throws LabError("cancelled") when the signal aborts
   */
  async exportRun(
    runId: string,
    format: "zip" | RunExport,
    wordnetUrl: string,
    onBytes: (bytes: number) => void,
    signal: AbortSignal,
  ) {
    const [store, set, progress] = [await openOpfsStore(), opened?.set ?? null, { onBytes, signal }];
    if (format !== "zip") return exportZip(store, runId, format, { set, pictureOf, wordnetUrl }, progress);
    return runZip(store, runId, progress);
  },
  /** Stores measured rows of the open set, adding to or replacing earlier ones. */
  async keepDifficulty(rows: readonly RowDifficulty[]) {
    const { store, name } = await difficultyFile();
    await keepDifficulty(store, name, mergedDifficulty(await keptDifficulty(store, name), rows));
  },
  /** Measured rows of the open set; empty if none were measured. */
  async difficulty() {
    const { store, name } = await difficultyFile();
    return keptDifficulty(store, name);
  },
  /** The trainer's port; `RowCalls` are served on it. */
  serveRows: (port: MessagePort): void => void connect(port, rowCalls),
};

export type DataCalls = CallsOf<typeof dataCalls>;

keepFilesInUse();
connect(ownPort(), Object.assign({}, dataCalls, ...DATA_CALLS.map((served) => served(async () => place))));
