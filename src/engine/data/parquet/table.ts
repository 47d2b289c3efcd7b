import { Lru } from "../../bytes/collections.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { groupOf } from "../arrow/arrow-table.ts";
import { type Cell, itemCost, type ReadMeter, type Table, valueMeter } from "../tables/table.ts";
import { readFooter } from "./footer.ts";
import type { Leaf, Node } from "./nodes.ts";
import { type Page, type PageAt, type PageReader, pageReader, statedRows } from "./pages.ts";

// Builds rows from pages: the entries of a row in one column, and the record of several columns.

/** The entries of one row in one column, read in order. */
interface Entries {
  /** Whether there is another entry. */
  more(): boolean;
  rep(): number;
  def(): number;
  /**
   * The value of the entry, which must have one.
   * @throws LabError("bad-input") when the meter's limit is reached
   */
  value(meter: ReadMeter): Cell;
  step(): void;
}

/** Finds the entries of rows in the pages of one chunk. */
interface RowFinder {
  /** @param row within the row group */
  entries(row: number): Promise<Entries>;
}

/** A page with a known range of rows. */
interface Counted extends PageAt {
  readonly firstRow: number;
  readonly rows: number;
}

/**
 * @param read reads a page, from a cache if possible
 * @param start offset of the chunk's first page
 */
function rowFinder(pages: PageReader, read: (page: PageAt) => Promise<Page>, start: number, leaf: Leaf): RowFinder {
  const known: Counted[] = [];
  let walk: Promise<unknown> = Promise.resolve();
  /** Finds the next page, or undefined at the end; only one call runs at a time. */
  const extend = async (): Promise<Counted | undefined> => {
    const last = known.at(-1);
    const page = await pages.at(last?.next ?? start);
    if (page === undefined) return undefined;
    const rows = statedRows(page, leaf) ?? rowStarts(await read(page)).length;
    const counted = { ...page, firstRow: last === undefined ? 0 : last.firstRow + last.rows, rows };
    known.push(counted);
    return counted;
  };
  const find = async (row: number): Promise<number> => {
    const work = walk.then(async () => {
      for (let last = known.at(-1); last === undefined || row >= last.firstRow + last.rows; last = known.at(-1)) {
        if ((await extend()) === undefined) throw new RangeError(`its pages end before row ${row}`);
      }
    });
    walk = work.catch(() => undefined);
    await work;
    return known.findLastIndex((page) => page.firstRow <= row && page.rows > 0);
  };
  /** The page after a known one. */
  const after = async (number: number): Promise<Counted | undefined> => {
    if (known[number + 1] === undefined) {
      const work = walk.then(async () => (known[number + 1] === undefined ? extend() : undefined));
      walk = work.catch(() => undefined);
      await work;
    }
    return known[number + 1];
  };
  return {
    entries: async (row) => {
      const number = await find(row);
      const found = known[number] as Counted;
      const page = await read(found);
      const at = row - found.firstRow;
      if (leaf.rep === 0) return walker([{ page, from: at, to: at + 1 }], leaf);
      const starts = rowStarts(page);
      const parts = [{ page, from: starts[at] ?? page.entries, to: starts[at + 1] ?? page.entries }];
      // A row may continue in the following pages, whose first entries then repeat.
      for (let next = number + 1, last = at === found.rows - 1; last; next++) {
        const beyond = await after(next - 1);
        if (beyond === undefined) break;
        const more = await read(beyond);
        const first = rowStarts(more)[0] ?? more.entries;
        if (first > 0) parts.push({ page: more, from: 0, to: first });
        last = first === more.entries && more.entries > 0;
      }
      return walker(parts, leaf);
    },
  };
}

const starts = new WeakMap<Page, Uint32Array>();

/** Entries at which rows start: those with repetition level 0. */
function rowStarts(page: Page): Uint32Array {
  const before = starts.get(page);
  if (before !== undefined) return before;
  const { rep, entries } = page;
  let rows = 0;
  for (let entry = 0; entry < entries; entry++) if ((rep?.[entry] ?? 0) === 0) rows++;
  const found = new Uint32Array(rows);
  for (let entry = 0, row = 0; entry < entries; entry++) if ((rep?.[entry] ?? 0) === 0) found[row++] = entry;
  starts.set(page, found);
  return found;
}

function walker(
  parts: readonly { readonly page: Page; readonly from: number; readonly to: number }[],
  leaf: Leaf,
): Entries {
  let number = 0;
  let part = parts[0] as (typeof parts)[number];
  let at = part.from;
  return {
    more: () => at < part.to,
    rep: () => part.page.rep?.[at] ?? 0,
    def: () => part.page.def?.[at] ?? leaf.def,
    value: (meter) => part.page.values(part.page.places?.[at] ?? at, meter),
    step: () => {
      at++;
      while (at >= part.to && number + 1 < parts.length) {
        part = parts[++number] as (typeof parts)[number];
        at = part.from;
      }
    },
  };
}

/**
 * The value of a node from the entries of the leaves below it (Dremel's record assembly).
 * @param leaves entries per leaf of the file; those below the node must exist
 * @param meter counts the cost of items and texts
 * @throws RangeError when the columns do not belong together; LabError("bad-input") when the meter's limit is reached
 */
function assemble(node: Node, leaves: readonly (Entries | undefined)[], meter: ReadMeter): Cell {
  const first = leaves[node.from];
  if (first === undefined || !first.more()) throw new RangeError("a column has fewer entries than its neighbours");
  const def = first.def();
  if (node.kind === "leaf") {
    const value = def < node.def ? null : first.value(meter);
    first.step();
    return value;
  }
  const empty = (): void => {
    for (const entries of leaves.slice(node.from, node.to)) entries?.step();
  };
  if (def < node.def) {
    empty();
    return null;
  }
  if (node.kind === "struct") {
    // Makes a field named `__proto__` a plain property.
    return Object.fromEntries(
      node.fields.map((field, at) => [node.names[at] as string, assemble(field, leaves, meter)]),
    );
  }
  if (def < node.itemDef) {
    empty();
    return [];
  }
  const items: Cell[] = [];
  const cost = itemCost(node.item.kind === "leaf" ? node.item.type : undefined);
  do {
    meter.take(cost);
    items.push(assemble(node.item, leaves, meter));
  } while (first.more() && first.rep() === node.itemRep);
  return items;
}

/** Number of row groups whose page positions and dictionaries are cached. */
const OPEN_GROUPS = 3;
/** Maximum bytes of cached pages. */
const PAGE_BYTES = 2 ** 26;

/**
 * Opens a Parquet file without loading it: reads the footer now, and pages when one of their rows is needed.
 * @throws LabError("bad-input") when it is truncated or damaged, "unsupported" when it is encrypted
 */
export async function openParquet(source: ByteSource): Promise<Table> {
  const footer = await readFooter(source);
  const cache = pageCache();
  const open = new Lru<number, Map<number, RowFinder>>(OPEN_GROUPS);
  const finder = (group: number, leaf: number): RowFinder => {
    const finders = open.get(group, () => new Map());
    let found = finders.get(leaf);
    if (found === undefined) {
      const chunk = footer.groups[group]?.chunks[leaf];
      const node = footer.leaves[leaf] as Leaf;
      if (chunk === undefined) throw new LabError("internal", `${source.name} has no column ${leaf}`);
      const pages = pageReader(source, chunk, node);
      found = rowFinder(pages, (page) => cache(page.start, () => pages.read(page)), chunk.start, node);
      finders.set(leaf, found);
    }
    return found;
  };
  const { columns, nodes, groups, rows, metadata, problem } = footer;
  return {
    columns,
    rows,
    metadata,
    batches: groups.length,
    problem,
    cell: async (column, row, pass) => {
      const node = nodes[column];
      const number = groupOf(groups, rows, row);
      const group = groups[number];
      if (node === undefined) throw new LabError("internal", `${source.name} has no column ${column}`);
      if (group === undefined) throw badInput(`${source.name} has no row ${row}, only ${rows} rows`);
      const entries: Entries[] = [];
      try {
        for (let leaf = node.from; leaf < node.to; leaf++) {
          entries[leaf] = await finder(number, leaf).entries(row - group.firstRow);
        }
        const value = assemble(node, entries, valueMeter(pass));
        // An empty list that goes on: the levels of a damaged page contradict each other.
        if (entries.some((leaf) => leaf?.more() === true)) throw new RangeError("its levels contradict each other");
        return value;
      } catch (thrown) {
        if (thrown instanceof LabError) throw thrown;
        throw badInput(
          `${source.name}: column ${columns[column]?.name} cannot be read (${thrownText(thrown)}); the file is damaged`,
          source.name,
          thrown,
        );
      }
    },
  };
}

/** LRU cache of pages by their offset, up to PAGE_BYTES. */
function pageCache(): (start: number, read: () => Promise<Page>) => Promise<Page> {
  const kept = new Map<number, Promise<Page>>();
  const sizes = new Map<number, number>();
  let bytes = 0;
  const drop = (start: number): void => {
    bytes -= sizes.get(start) ?? 0;
    sizes.delete(start);
    kept.delete(start);
  };
  return (start, read) => {
    const known = kept.get(start);
    if (known !== undefined) {
      kept.delete(start);
      kept.set(start, known);
      return known;
    }
    const page = read();
    kept.set(start, page);
    page.then(
      (done) => {
        if (kept.get(start) !== page) return;
        sizes.set(start, done.bytes);
        bytes += done.bytes;
        for (const oldest of [...kept.keys()]) {
          if (bytes <= PAGE_BYTES) break;
          if (oldest !== start) drop(oldest);
        }
      },
      () => drop(start),
    );
    return page;
  };
}
