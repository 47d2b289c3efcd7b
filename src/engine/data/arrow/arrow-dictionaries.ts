import type { ArrowBody } from "./arrow-frames.ts";

/** Dictionary values: a base and any deltas after it, in order. */
export type DictionaryParts = readonly ArrowBody[];

/** Dictionaries by id, valid for a batch. */
export type DictionariesAt = Pick<ReadonlyMap<number, DictionaryParts>, "get">;

interface Version {
  /** First batch for which it is valid. */
  readonly from: number;
  /** Shared with later versions; the first `count` belong to this one. */
  readonly parts: ArrowBody[];
  readonly count: number;
}

/** Versions of the dictionaries along a file, stored so that the cost per message is constant. */
export class DictionaryHistory {
  private readonly versions = new Map<number, Version[]>();

  /**
   * Without the delta flag a dictionary replaces the previous one for the following batches.
   * @param batch number of the next batch
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
