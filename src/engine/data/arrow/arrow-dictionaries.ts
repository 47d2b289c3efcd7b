import type { ArrowBody } from "./arrow-frames.ts";

/** Dictionary values: a base and any deltas after it, in order. */
export type DictionaryParts = readonly ArrowBody[];

/** Dictionaries by id as they stand at a batch. */
export type DictionariesAt = Pick<ReadonlyMap<number, DictionaryParts>, "get">;

interface Version {
  /** The batch it holds from. */
  readonly from: number;
  /** Shared with the versions after it; the first `count` are its own. */
  readonly parts: ArrowBody[];
  readonly count: number;
}

/** What becomes of dictionaries along a file, kept so that every message costs the same, however many there are. */
export class DictionaryHistory {
  private readonly versions = new Map<number, Version[]>();

  /**
   * Without the delta flag a dictionary takes the place of the one before, for the batches that follow.
   * @param batch number of the batch that comes next
   */
  add(id: number, body: ArrowBody, isDelta: boolean, batch: number): void {
    const known = this.versions.get(id) ?? [];
    const parts = isDelta ? (known.at(-1)?.parts ?? []) : [];
    parts.push(body);
    if (known.at(-1)?.from === batch) known.pop();
    known.push({ from: batch, parts, count: parts.length });
    this.versions.set(id, known);
  }

  at(batch: number): DictionariesAt {
    return {
      get: (id) => {
        const version = this.versions.get(id)?.findLast(({ from }) => from <= batch);
        return version?.parts.slice(0, version.count);
      },
    };
  }
}
