/** Reads shards, decodes pictures and keeps the library of stored runs, so that neither page nor trainer waits for them. */
import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { checkRegionSet } from "../src/engine/data/check.ts";
import { decodeInBrowser, displayBitmap } from "../src/engine/data/image/decode-bitmap.ts";
import { pictureCache } from "../src/engine/data/image/picture-cache.ts";
import { decodeRle } from "../src/engine/data/mask/rle.ts";
import { findRow, isStoredRow } from "../src/engine/data/open-rows.ts";
import { rawRow } from "../src/engine/data/raw-row.ts";
import { openRegionSet, type RegionSet } from "../src/engine/data/region-set.ts";
import type { RegionSummary, RgbImage } from "../src/engine/data/sample.ts";
import { describeSet } from "../src/engine/data/set-info.ts";
import { listShards } from "../src/engine/data/shards.ts";
import { LabError, toLabError } from "../src/engine/errors.ts";
import { importRollouts } from "../src/engine/runs/import-rollouts.ts";
import { type RunLibrary, runLibrary } from "../src/engine/runs/library.ts";
import type { PictureOf } from "../src/engine/runs/rollout-picture.ts";
import { listRuns } from "../src/engine/runs/run-folder.ts";
import { folderStore } from "../src/engine/storage/folder-store.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import type { RequestId } from "../src/protocol/common.ts";
import type { FromData, SampleReply, SampleRequest, ToData } from "../src/protocol/data.ts";
import { exportZip } from "./exports.ts";
import { folderName, openFolder, openFolders } from "./folders.ts";
import { wireError } from "./wire.ts";

/** Decoded pixels kept: some 250 pictures of 640 x 480. */
const PICTURE_BYTES = 256 * 2 ** 20;

/** Largest file of rollouts that is taken in at once. */
const MAX_ROLLOUT_BYTES = 256 * 2 ** 20;

interface OpenSet {
  readonly folder: ByteFolder;
  readonly set: RegionSet;
  readonly byId: Map<string, RegionSummary>;
}

const picture = pictureCache(decodeInBrowser, PICTURE_BYTES);
let opened: OpenSet | null = null;
let opening: { readonly controller: AbortController; readonly done: Promise<void> } | null = null;
let library: Promise<RunLibrary> | null = null;
/** Runs served with the page. */
let recorded: { readonly library: RunLibrary; readonly ids: ReadonlySet<string> } | null = null;

function send(message: FromData, transfer: Transferable[] = []): void {
  self.postMessage(message, transfer);
}

function fail(request: RequestId | null, thrown: unknown): void {
  send({ type: "failed", request, error: wireError(thrown) });
}

/** The library; a store that could not be opened is tried again at the next request. */
async function runs(): Promise<RunLibrary> {
  library ??= openOpfsStore().then((store) => runLibrary(store));
  try {
    return await library;
  } catch (thrown) {
    library = null;
    throw thrown;
  }
}

/** What the trainer keeps of the frozen towers. */
async function featuresKept(): Promise<{ readonly bytes: number; readonly pictures: number }> {
  const files = await (await openOpfsStore("features")).list("");
  return { bytes: files.reduce((sum, { size }) => sum + size, 0), pictures: files.length };
}

/** The library that holds a run: what is served with the page, else what is stored here. */
async function holding(runId: string): Promise<RunLibrary> {
  return recorded?.ids.has(runId) === true ? recorded.library : await runs();
}

async function open(message: Extract<ToData, { type: "open" }>, signal: AbortSignal): Promise<void> {
  const name = message.folders.map(folderName).join(" + ");
  const folder = await openFolders(message.folders);
  const { shards } = await listShards(folder);
  const seen = new Set<string>();
  const byId = new Map<string, RegionSummary>();
  opened = null;
  const set = await openRegionSet(folder, {
    signal,
    onProgress: ({ file, rows }) => {
      send({ type: "progress", files: seen.add(file).size, filesTotal: shards.length, rows, file });
    },
    onRows: (rows, growing) => {
      for (const row of rows) byId.set(row.id, row);
      // Pictures of the first rows can be asked for while the rest is still being indexed.
      opened = { folder, set: growing, byId };
      send({ type: "rows", rows });
    },
  });
  opened = { folder, set, byId };
  const checks = await checkRegionSet(set, decodeInBrowser, () => performance.now(), message.folders.map(folderName));
  send({ type: "opened", request: message.request, info: describeSet(set, name, checks) });
}

/** One index is built at a time: a new request ends the one under way. */
async function startOpening(message: Extract<ToData, { type: "open" }>): Promise<void> {
  const before = opening;
  before?.controller.abort();
  const controller = new AbortController();
  const work = async (): Promise<void> => {
    await before?.done;
    try {
      controller.signal.throwIfAborted();
      await open(message, controller.signal);
    } catch (thrown) {
      const cancelled = controller.signal.aborted && !(thrown instanceof LabError);
      fail(message.request, cancelled ? new LabError("cancelled", "Opening was cancelled before it began") : thrown);
    }
  };
  const mine = { controller, done: work() };
  opening = mine;
  await mine.done;
  if (opening === mine) opening = null;
}

function current(): OpenSet {
  if (opened === null) throw new LabError("bad-input", "No data set is open; open or drop a folder of shards first");
  return opened;
}

/** Pixels of a row of a set; what goes wrong names the row. */
async function pixelsOf(set: RegionSet, index: number): Promise<RgbImage> {
  const sample = await set.sample(index);
  try {
    return await picture(sample);
  } catch (thrown) {
    const { code, message } = toLabError(thrown);
    throw new LabError(code, `${sample.id}: ${message}`, { subject: sample.id, cause: thrown });
  }
}

/** The picture of an open row of that id and content; null where none is open. */
const pictureOf: PictureOf = async (rowId, imageId) => {
  const row = opened?.byId.get(rowId);
  return opened === null || row === undefined || !isStoredRow(row, { rowId, imageId })
    ? null
    : await pixelsOf(opened.set, row.index);
};

/** Carries out a request; its answer and the buffers handed over with it. */
async function answer(message: Exclude<ToData, { type: "open" | "cancel-open" | "trainer-port" }>): Promise<void> {
  const { request } = message;
  switch (message.type) {
    case "image": {
      const { index, width, height } = findRow(current().byId, message.rowId, message.imageId);
      const pixels = await pixelsOf(current().set, index);
      const bitmap = await displayBitmap(pixels, message.maxSide);
      return send({ type: "image", request, bitmap, width, height }, [bitmap]);
    }
    case "raw-row": {
      const { file, row } = findRow(current().byId, message.rowId, null);
      return send({ type: "raw-row", request, text: await rawRow(current().folder, file, row) });
    }
    case "recorded": {
      const store = folderStore(await openFolder({ kind: "built-in", baseUrl: message.baseUrl }));
      const { runs: found } = await listRuns(store);
      recorded = { library: runLibrary(store), ids: new Set(found.map((run) => run.id)) };
      return send({ type: "recorded", request, runId: found[0]?.id ?? null });
    }
    case "runs": {
      const { damaged, ...listed } = await (await runs()).list();
      send({ type: "runs", request, ...listed, features: await featuresKept() });
      if (damaged.length > 0) {
        const names = damaged.map((id) => `"${id}"`).join(", ");
        fail(null, new LabError("storage", `Stored runs ${names} are damaged and not listed; their files are kept`));
      }
      return;
    }
    case "run":
      return send({ type: "run", request, ...(await (await holding(message.runId)).open(message.runId)) });
    case "run-groups":
      return send({
        type: "run-groups",
        request,
        groups: await (await holding(message.runId)).groups(message.runId, message.step),
      });
    case "evaluations": {
      const evaluations = await (await holding(message.runId)).evaluations(message.runId);
      return send({ type: "evaluations", request, evaluations });
    }
    case "alarms":
      return send({ type: "alarms", request, alarms: await (await holding(message.runId)).alarms(message.runId) });
    case "rollouts": {
      const { file, name } = message;
      if (file.size > MAX_ROLLOUT_BYTES) {
        throw new LabError("bad-input", `${name} has ${file.size} bytes, more than ${MAX_ROLLOUT_BYTES}`, {
          subject: name,
        });
      }
      const bytes = new Uint8Array(await file.arrayBuffer());
      return send({ type: "rollouts", request, groups: await importRollouts(bytes, name) });
    }
    case "thumbs":
      return send({ type: "thumbs", request, thumbs: await (await holding(message.runId)).thumbs(message.runId) });
    case "set-thumb": {
      const { runId, rollout, thumb } = message;
      return send({ type: "thumbs", request, thumbs: await (await holding(runId)).setThumb(runId, rollout, thumb) });
    }
    case "delete-run":
      await (await runs()).remove(message.runId);
      return send({ type: "done", request });
    case "delete-features": {
      const store = await openOpfsStore("features");
      for (const { path } of await store.list("")) await store.remove(path);
      return send({ type: "done", request });
    }
    case "rename-run":
      await (await runs()).rename(message.runId, message.title);
      return send({ type: "done", request });
    case "export-run": {
      if (message.format !== "zip") {
        const zipped = await exportZip(
          await openOpfsStore(),
          message.runId,
          message.format,
          opened?.set ?? null,
          pictureOf,
        );
        return send({ type: "exported", request, ...zipped });
      }
      const blob = await (await runs()).zip(message.runId);
      return send({ type: "exported", request, blob, fileName: `${message.runId}.zip`, note: null });
    }
    default:
      throw new LabError("internal", `The data worker knows no message "${(message as ToData).type}"`);
  }
}

/** Pixels and mask of a row for the trainer; both buffers change hands. */
async function sampleFor(port: MessagePort, { request, index }: SampleRequest): Promise<void> {
  const post = (reply: SampleReply, transfer: Transferable[]): void => port.postMessage(reply, transfer);
  try {
    const { set } = current();
    const pixels = await pixelsOf(set, index);
    const summary = set.summaries[index] as RegionSummary;
    // A copy: the cache keeps its own.
    const rgb = new Uint8Array(pixels.data).buffer;
    const mask = decodeRle(summary.mask).buffer;
    post({ request, summary, rgb, mask }, [rgb, mask]);
  } catch (thrown) {
    post({ request, error: wireError(thrown) }, []);
  }
}

self.onmessage = ({ data }: MessageEvent<ToData>) => {
  if (data.type === "open") void startOpening(data);
  else if (data.type === "cancel-open") opening?.controller.abort();
  else if (data.type === "trainer-port") {
    const { port } = data;
    port.onmessage = (event: MessageEvent<SampleRequest>) => void sampleFor(port, event.data);
  } else answer(data).catch((thrown: unknown) => fail(data.request ?? null, thrown));
};
