/** What the calls of plug-ins get from the worker that serves them. */
import type { ByteFolder } from "../engine/bytes/source.ts";
import type { RegionSample, RgbImage } from "../engine/data/sample.ts";
import type { ModelCache } from "../engine/loading/model-cache.ts";
import type { Meteor } from "../engine/rewards/meteor/meteor.ts";
import type { RunLibrary } from "../engine/runs/library/library.ts";
import type { Session, StartedRun } from "../engine/session/session.ts";
import type { RunStore } from "../engine/storage/store.ts";
import type { FolderRef } from "./common.ts";
import type { RowCalls } from "./data.ts";
import type { Calls } from "./rpc.ts";
import type { Started } from "./trainer.ts";

/** The trainer once its device is open. */
export interface TrainerPlace {
  readonly lab: Session;
  readonly models: ModelCache;
  /** Of runs. */
  readonly store: RunStore;
  readonly rows: Calls<RowCalls>;
  /** Read-only store of a run that is not stored in this browser; undefined for one that is. */
  readonly elsewhere: (runId: string) => Promise<RunStore | undefined>;
  /** Opens the folder of a model. @returns its files, and a function that closes its connections */
  readonly openModel: (ref: FolderRef, signal?: AbortSignal) => Promise<{ readonly folder: ByteFolder; close(): void }>;
  /** Reports the error that ends a started run to the page. @returns what the page shows of it */
  readonly watch: (run: StartedRun) => Started;
}

/** How a download reports itself. */
export interface Fetching {
  readonly signal?: AbortSignal | undefined;
  /** Receives the number of bytes as they arrive. */
  readonly onBytes?: ((count: number) => void) | undefined;
  /** Receives a sentence whenever a request is repeated. */
  readonly onRepeat?: ((sentence: string) => void) | undefined;
}

/** Opens folders of the kind `remote`. */
export interface FolderOpener {
  /**
   * @param listing of the reference
   * @returns its files, whether another visit finds the same ones, and a function that closes its connections
   */
  open(
    listing: unknown,
    fetching: Fetching,
  ): Promise<{ readonly folder: ByteFolder; readonly known: boolean; close(): void }>;
}

/** Pixels of a picture outside the open rows, by its index in the source that a plug-in opened, and its id. */
export type PictureSource = (index: number) => Promise<{ readonly id: string; readonly rgb: RgbImage }>;

/** The open files of the data worker. */
export interface DataPlace {
  /** Files of the last opened folders, even without training rows; null before. */
  readonly files: () => ByteFolder | null;
  /** Pixels of an encoded picture, from the cache of the worker. */
  readonly pixels: (picture: Pick<RegionSample, "imageId" | "image">) => Promise<RgbImage>;
  /** Sources of plug-ins by name, which requests for pictures name; opening files forgets them. */
  readonly sources: Map<string, PictureSource>;
  /** A store of the private file system by name; of runs without one. */
  readonly store: (name?: "evaluations" | "models" | "runs") => Promise<RunStore>;
  /** Runs stored in this browser. */
  readonly library: () => Promise<RunLibrary>;
  /** Adds a read-only run from elsewhere. @throws LabError("bad-input") where one of its id is stored here */
  readonly addRun: (runId: string, store: RunStore) => Promise<void>;
}

/** The reward worker once the WordNet table is read. */
export interface RewardPlace {
  readonly meteor: Meteor;
}

/** Calls of a plug-in on a worker. @param place resolves when the worker is ready; rejects with the reason if it cannot be */
export type ServedAt<Place> = (place: () => Promise<Place>) => object;
